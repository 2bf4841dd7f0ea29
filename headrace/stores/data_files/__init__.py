"""Data files of versions: written and audited in one pass, and read back; shared by the stores that keep files."""
