"""Retention: 90 days in the tables, then Parquet in the archive, with daily roll-ups kept forever.

Alerts are kept for 400 days after they close.
"""
