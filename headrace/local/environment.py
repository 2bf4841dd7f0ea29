"""The environment in which Dagster's own commands work on Headrace's state."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from sqlalchemy import make_url

from headrace.alerts import links
from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.local import session
from headrace.project import project_root
from headrace.settings import settings

if TYPE_CHECKING:
    import dagster as dg


@contextmanager
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    """Yield the deployment's Dagster instance, with its storage started."""
    os.environ.update(environment())
    settings.cache_clear()  # the address of the service may be new
    import dagster as dg

    with dg.DagsterInstance.get() as instance:
        yield instance


def environment() -> dict[str, str]:
    """Return the variables under which `dagster` and `dg` work on this deployment, from any folder.

    Starts the database and migrates the catalog if needed, and creates DAGSTER_HOME: `dagster` in the state folder,
    with a link to the dagster.yaml in this package. Raises CatalogError if the database is unavailable.
    """
    database.connect()
    return {
        # For a range of partitions, Dagster otherwise writes each event in a separate transaction.
        "DAGSTER_EVENT_BATCH_SIZE": "1000",
        "DAGSTER_HOME": str(_dagster_home()),
        "DAGSTER_POSTGRES_URL": _psycopg2_url(database.dagster_url()),
        "HEADRACE_PROJECT": str(project_root()),
        "PATH": _path_with_tools(),
        **_chosen_home(),
        **_service_url(),
    }


def other_project_environment() -> dict[str, str]:
    """Return the variables with which a code location of another project uses this one's embedded database.

    Its versions stay in its own state folder. Empty if database_url is set, which `up` passes on to all its processes.
    """
    here = current_context().settings
    if here.database_url is not None:
        return {}
    variables = {
        "HEADRACE_DATABASE_URL": embedded.start(here.home),
        "HEADRACE_PRODUCTION": str(here.is_production).lower(),  # true by default if database_url is set
    }
    key = links.secret(here)  # the service verifies the links in the alerts of all projects
    return variables if key is None else variables | {"HEADRACE_ALERT_SECRET": key}


def _chosen_home() -> dict[str, str]:
    """Return the state folder if the user set HEADRACE_HOME: otherwise each project uses its own."""
    chosen = os.environ.get("HEADRACE_HOME")
    return {"HEADRACE_HOME": str(current_context().settings.home.resolve())} if chosen else {}


def _service_url() -> dict[str, str]:
    """Return the address of this project's own service, if `headrace up` serves it and no setting names another.

    The default port may be another project's, which must not get the tokens of this project's runs.
    """
    up = session.read(current_context().settings.home)
    if up is None or up.service_url is None or "service_url" in current_context().settings.model_fields_set:
        return {}
    return {"HEADRACE_SERVICE_URL": up.service_url} if psutil.pid_exists(up.pid) else {}


def _dagster_home() -> Path:
    """Return the folder, created if missing; a link left by a moved checkout is corrected."""
    home = current_context().settings.home.resolve() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    link, target = home / "dagster.yaml", Path(__file__).with_name("dagster.yaml")
    if not (link.is_symlink() and link.readlink() == target):
        # Concurrent processes may do this: with a rename the last one wins, and none sees it missing.
        fresh = home / f"dagster.yaml.{os.getpid()}"
        fresh.symlink_to(target)
        fresh.replace(link)
    return home


def _psycopg2_url(url: str) -> str:
    """Return the URL for psycopg2: dagster-postgres only works with it (psycopg 3 rejects its NOTIFY)."""
    return make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)


def _path_with_tools() -> str:
    """Return PATH with this environment's commands (dagster, dg, headrace) first."""
    tools = str(Path(sys.executable).parent)
    others = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != tools]
    return os.pathsep.join([tools, *others])
