"""Files landed by other systems: read, measured and published as versions of external datasets."""
