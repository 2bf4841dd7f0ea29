"""One machine: the processes behind `up` and `down`, and their environment."""
