"""Readers of files: rows as records, one at a time.

`read` chooses by a file's name; `lines` reads lines with their numbers for the others.
"""
