"""Scores of answers to rows, computed on the host by scikit-learn and SciPy.

A `Scorer` serves every task with answers of its kind; rows are those of
`training.data.row_formats`, answers those of models that take strings.
"""
