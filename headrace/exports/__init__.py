"""The OpenLineage-aligned relational model (OL_*), and the lineage graph in formats of other tools."""

from headrace.exports.ddl import create_statements, drop_statements
from headrace.exports.installation import InstallationResult, Verification, drop, install, verify
from headrace.exports.targets import TargetRefused, dialect_of, engine_of

__all__ = [
    "InstallationResult",
    "TargetRefused",
    "Verification",
    "create_statements",
    "dialect_of",
    "drop",
    "drop_statements",
    "engine_of",
    "install",
    "verify",
]
