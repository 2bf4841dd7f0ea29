"""Files that other systems land: read, measured and published as versions of external datasets."""
