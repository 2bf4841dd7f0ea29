"""New York's flights: the raw feed, what flights are looked up in, and the figures of each day and month."""
