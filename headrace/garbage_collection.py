"""Pauses of garbage collection: estates, declarations and batches of events are many objects and hardly any garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Pause garbage collection within the block: the objects created there are not cyclic.

    Looking through those of a batch of events again and again costs a third of its CPU time. Of threads that overlap,
    one that ends may resume the collection for all.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
