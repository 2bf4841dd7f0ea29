"""Forecast arrivals and run times from history, and learn what is usual."""
