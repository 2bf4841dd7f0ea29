"""Monthly figures, one of them computed in Python."""
