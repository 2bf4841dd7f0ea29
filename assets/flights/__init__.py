"""New York's flights: the raw feed, reference data, and daily and monthly figures."""
