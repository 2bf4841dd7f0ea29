"""Commands about datasets and their versions."""
