"""The documents; `_code` makes those pages that are not written by hand."""
