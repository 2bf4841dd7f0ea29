"""The night: its page, and the layout of the timeline."""
