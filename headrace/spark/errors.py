"""Errors of Spark and the stores, one class per cause, each message with a remedy.

failure_kind: the catalog's failure kind of a failed attempt; without it, a failure of the code.
"""


class ResourceError(Exception):
    """A resource that a run needs is unavailable."""


class SparkUnavailable(ResourceError):
    """No Spark session: Java is missing or too old, the master does not respond, or the JVM died."""

    failure_kind = "INFRASTRUCTURE"


class StoreUnavailable(ResourceError):
    """A store cannot be reached or written: wrong address, no permission, disk full."""

    failure_kind = "INFRASTRUCTURE"


class DiskFull(StoreUnavailable):
    """No space is left where a store or Spark writes."""


class SchemaMismatch(ResourceError):
    """A frame does not have the declared columns, or versions read together are incompatible."""


class CorruptInput(ResourceError):
    """A file of an input version is missing or cannot be parsed."""

    failure_kind = "INPUT"


class ReaderFailed(ResourceError):
    """A project's own reader raised an exception, the cause of this one."""

    failure_kind = "INPUT"


class UnusableFunction(ResourceError):
    """A function that a project declares, such as a reader, cannot be imported, or returns something else."""


class InvalidCheck(ResourceError):
    """A check cannot be evaluated on this dataset: unknown kind, wrong parameters, wrong column type."""


class InvalidModel(ResourceError):
    """A reference to a pandera model does not resolve to one."""
