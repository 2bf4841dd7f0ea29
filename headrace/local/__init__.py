"""One machine: the processes behind `up` and `down`, and the environment that they run in."""
