"""From a run to published versions: choose inputs with `pins`, run within `runs.attempt`, publish with `publication`.

Rolling back, and withdrawing partitions that a declaration no longer has, move the same pointers.
"""
