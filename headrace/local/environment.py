"""What Dagster's own commands need in their environment to work on Headrace's state."""

import os
import sys
from pathlib import Path

from sqlalchemy import make_url

from headrace.database import connection as database
from headrace.project import project_root
from headrace.settings import settings


def environment() -> dict[str, str]:
    """The variables under which `dagster` and `dg` work on this deployment, from any folder.

    Starts the database and migrates the catalog if need be, and makes DAGSTER_HOME: `dagster` in the state
    folder, with a link to the dagster.yaml beside this file. Raises CatalogError when the database is not to be had.
    """
    database.connect()
    return {
        # Of a range of partitions Dagster otherwise writes the event of each in a transaction of its own.
        "DAGSTER_EVENT_BATCH_SIZE": "1000",
        "DAGSTER_HOME": str(_dagster_home()),
        "DAGSTER_POSTGRES_URL": _psycopg2_url(database.dagster_url()),
        "HEADRACE_HOME": str(settings().home.resolve()),
        "HEADRACE_PROJECT": str(project_root()),
        "PATH": _path_with_tools(),
    }


def _dagster_home() -> Path:
    """The folder, made anew where it is missing; a link left by a checkout that has moved is put right."""
    home = settings().home.resolve() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    link, target = home / "dagster.yaml", Path(__file__).with_name("dagster.yaml")
    if not (link.is_symlink() and link.readlink() == target):
        # Several processes may come here at once: with a rename the last one wins, and none sees it missing.
        fresh = home / f"dagster.yaml.{os.getpid()}"
        fresh.symlink_to(target)
        fresh.replace(link)
    return home


def _psycopg2_url(url: str) -> str:
    """dagster-postgres works with psycopg2 alone (psycopg 3 refuses its NOTIFY), and SQLAlchemy must be told."""
    return make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)


def _path_with_tools() -> str:
    """PATH with this environment's commands (dagster, dg, headrace) first."""
    tools = str(Path(sys.executable).parent)
    others = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != tools]
    return os.pathsep.join([tools, *others])
