"""Column profiles: sketches of values, what they show, and how far two of them differ; nothing here reads data."""
