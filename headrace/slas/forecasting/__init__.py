"""Forecasts of arrivals and run times from history, and learning of typical values."""
