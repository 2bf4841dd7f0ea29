"""Checks of written rows: their kinds as Spark conditions, plans, and evaluation by reading rows back."""
