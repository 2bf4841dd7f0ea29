"""Capabilities of stores: what a declaration may ask of them."""

from enum import StrEnum


class Capability(StrEnum):
    """A capability of a store; declarations are checked against these, never against a store's name.

    A dataset with partitions needs PARTITION_OVERWRITE.
    """

    ATOMIC_SWAP = "atomic_swap"  # moves its own reference atomically
    TIME_TRAVEL = "time_travel"  # earlier versions stay readable
    BRANCHES = "branches"  # writes and audits a version before it is visible to readers
    APPEND = "append"  # appends rows without a rewrite
    MERGE = "merge"  # update and insert by key
    PARTITION_OVERWRITE = "partition_overwrite"  # replaces one partition without the others
    SHARED_REFERENCE = (
        "shared_reference"  # one reference shows all partitions, and is made of all of them at once
    )
    CONNECTION = "connection"  # writes to a database, which a declaration names
    ROW_DELETE = "row_delete"  # deletes single rows without a rewrite
    OBSERVED = (
        "observed"  # executes a frame once, as a query of Spark, so that its observations come to an end
    )
