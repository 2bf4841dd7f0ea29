"""Commands for OpenMetadata: `openmetadata sync` and `changes`."""
