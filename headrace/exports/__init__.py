"""The OpenLineage-aligned relational model (OL_*), and the lineage graph in formats of other tools."""

from headrace.exports.ddl import create_statements, drop_statements
from headrace.exports.installation import Installed, Verified, drop, install, verify
from headrace.exports.targets import TargetRefused, dialect_of, engine_of

__all__ = [
    "Installed",
    "TargetRefused",
    "Verified",
    "create_statements",
    "dialect_of",
    "drop",
    "drop_statements",
    "engine_of",
    "install",
    "verify",
]
