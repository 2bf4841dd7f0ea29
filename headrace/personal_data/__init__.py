"""Suggestions of columns with personal data, from their names and a sample of values that is never stored.

`kinds.py` knows the kinds and how they are recognised, `suggestions.py` weighs what a column shows.
"""
