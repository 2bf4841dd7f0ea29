"""External datasets without declarations, and the folder that their files land in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Column, DatasetRecord
from headrace.execution.plan import ExternalPlan
from headrace.settings import settings

DAYS = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2014-01-01")


@pytest.fixture
def landing(engine: Engine) -> Path:
    """`landing` in the state folder."""
    folder = settings().home / "landing"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def external() -> Callable[..., ExternalPlan]:
    """Makes the plan of an external dataset."""

    def made(
        name: str,
        location: str | None,
        format: str,
        columns: Mapping[str, str | Column] | None = None,
        *,
        daily: bool = False,
        **rest: Any,
    ) -> ExternalPlan:
        described = tuple(
            each if isinstance(each, Column) else Column(column, each)
            for column, each in (columns or {}).items()
        )
        record = DatasetRecord(
            key=f"landed/{name}", format=format, columns=described, declared_at="assets/landed/defs.yaml:1"
        )
        return ExternalPlan(record, DAYS if daily else None, location, **rest)

    return made
