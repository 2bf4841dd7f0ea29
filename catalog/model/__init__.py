"""The OpenLineage-aligned relational model (OL_*), and the lineage graph in the forms that other tools read."""

from catalog.model.ddl import create_statements, drop_statements
from catalog.model.installation import Installed, Verified, drop, install, verify
from catalog.model.targets import TargetRefused, dialect_of, engine_of

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
