"""Paths of this repository."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

# Time limit for waiting for another process: generous, since the machine may be busy.
WAIT_SECONDS = 600
# Of Debian's package libpostgresql-jdbc-java.
POSTGRESQL_DRIVER = Path("/usr/share/java/postgresql.jar")
