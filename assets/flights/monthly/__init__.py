"""The monthly figures, and the transform among them that is Python."""
