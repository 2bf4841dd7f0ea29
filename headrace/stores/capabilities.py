"""What a store may be able to do."""

from enum import StrEnum


class Capability(StrEnum):
    """What a store may be able to do; the execution asks for these, never for a store by name."""

    ATOMIC_SWAP = "atomic_swap"  # its own reference moves in one step
    TIME_TRAVEL = "time_travel"  # earlier versions stay readable
    BRANCHES = "branches"  # written and audited beside what readers see
    APPEND = "append"  # new rows without a rewrite
    MERGE = "merge"  # update and insert by key
    PARTITION_OVERWRITE = "partition_overwrite"  # one partition without the others
    ROW_DELETE = "row_delete"  # single rows without a rewrite
