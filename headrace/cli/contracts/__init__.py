"""Commands about data contracts."""
