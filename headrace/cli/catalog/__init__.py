"""Commands for the catalog: names, registrations, retirement, the archive."""
