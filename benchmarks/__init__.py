"""Performance claims, repeatable; each measured with its alternative in the same run."""
