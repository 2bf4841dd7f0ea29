"""Errors of Spark and the warehouse, one class per cause, each message with a remedy.

failure_kind: how the catalog files a failed attempt; without it, as the code's failure.
"""


class ResourceError(Exception):
    """Something that a run needs cannot be had."""


class SparkUnavailable(ResourceError):
    """No Spark session: Java is missing or too old, the master does not answer, or the JVM died."""

    failure_kind = "INFRASTRUCTURE"


class WarehouseUnavailable(ResourceError):
    """The warehouse cannot be reached or written: wrong address, no permission, disk full."""

    failure_kind = "INFRASTRUCTURE"


class SchemaMismatch(ResourceError):
    """A frame does not have the declared columns, or versions read together do not fit each other."""


class CorruptInput(ResourceError):
    """A file of an input version is missing or cannot be parsed."""

    failure_kind = "INPUT"


class InvalidCheck(ResourceError):
    """A check cannot be evaluated on this dataset: unknown kind, wrong parameters, wrong column type."""


class InvalidModel(ResourceError):
    """A reference to a pandera model does not lead to one."""
