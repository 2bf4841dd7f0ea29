"""Knowledge of the catalog beyond a project's own declarations: the scanned estate, and datasets of other projects."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from headrace.catalog.queries.projects import NOTHING_KNOWN as NO_SUBJECTS
from headrace.catalog.queries.projects import ProjectDataset, Subjects
from headrace.estates.rows import NO_ESTATE, EstateRows

_LOG = logging.getLogger("headrace")


@dataclass(frozen=True, slots=True)
class Known:
    """estate: external processes. datasets: those declared by other projects. subjects: all owners and domains."""

    estate: EstateRows = NO_ESTATE
    datasets: tuple[ProjectDataset, ...] = ()
    subjects: Subjects = NO_SUBJECTS


NOTHING_KNOWN = Known()


def known() -> Known:
    """Return what the catalog knows; empty, with one log line, if it is unavailable. Starts no server."""
    from headrace.catalog.queries.projects import datasets_of_other_projects, subjects
    from headrace.database.connection import connect
    from headrace.database.embedded import running
    from headrace.errors import CatalogError
    from headrace.estates.queries import estate
    from headrace.settings import settings

    here = settings()
    if here.database_url is None and not running(here.home):
        return NOTHING_KNOWN
    try:
        engine = connect()
        return Known(estate(engine), datasets_of_other_projects(engine, here.project_name), subjects(engine))
    except CatalogError as error:
        _LOG.warning("Processes of other systems and datasets of other projects are not shown: %s", error)
        return NOTHING_KNOWN
