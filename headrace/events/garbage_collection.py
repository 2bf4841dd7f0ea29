"""Python's cyclic garbage collection, paused while a batch is ingested."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the collection of cycles within the block.

    A batch makes some hundred thousand objects that live until its end, none of them in cycles. Looking through them
    again and again costs a third of its CPU time (`benchmarks/ingestion.py`). Of threads that overlap, one that ends
    may resume the collection for all.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
