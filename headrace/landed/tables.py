"""Look at the table or query of a database that an external dataset is, and create the version of its state.

With a watermark, a table has changed when its greatest value has: an index answers that, at every look. Otherwise its
rows are counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256

from headrace.catalog.locators import JDBC_STORE, RelationLocator, locator_metadata
from headrace.catalog.records import CheckResult, CheckStatus, Column, VersionDraft
from headrace.catalog.schema import decimal_widens, schema_hash, widens
from headrace.connections.connection import connection
from headrace.connections.opening import opened
from headrace.connections.relations import OBSERVED, Source, State, columns_of, greatest, state
from headrace.execution.plan import ExternalPlan
from headrace.landed.contents import CHECK
from headrace.landed.versions import SIGNATURE

_DIGITS: Mapping[str, int] = {"boolean": 1, "tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}


@dataclass(frozen=True, slots=True)
class LandedTable:
    """A table or query with its change signature. mark: the greatest watermark, or the number of rows; row_count: None
    if they were not counted."""

    plan: ExternalPlan
    source: Source
    mark: str
    row_count: int | None = None

    partition = None

    @property
    def place(self) -> tuple[str, str | None]:
        """The dataset and partition."""
        return self.plan.record.key, self.partition

    @property
    def locator(self) -> RelationLocator:
        """The relation; a query is named for its dataset."""
        return RelationLocator(
            self.source.connection, self.source.table or f"query of {self.plan.record.key}"
        )

    @property
    def location(self) -> str:
        """The relation as text."""
        return str(self.locator)

    @property
    def signature(self) -> str:
        """Changes with the mark, and when the table is declared differently."""
        declared = (self.source.metadata, schema_hash(self.plan.record.columns))
        return sha256(json.dumps([*declared, self.mark]).encode()).hexdigest()


def look(plan: ExternalPlan, source: Source, *, counted: bool) -> LandedTable:
    """Look whether the table has changed. counted: count the rows also if there is a watermark.

    Rows that are committed late have a smaller watermark than others: only their number shows them. Raises
    SparkUnavailable, StoreUnavailable, StatementFailed.
    """
    from headrace.spark.session import database_session

    with opened(connection(source.connection), database_session) as database:
        if source.watermark is not None and not counted:
            return LandedTable(plan, source, greatest(database, source) or "")
        return _looked(plan, source, state(database, source))


def _looked(plan: ExternalPlan, source: Source, known: State) -> LandedTable:
    mark = str(known.rows) if source.watermark is None else known.watermark or ""
    return LandedTable(plan, source, mark, known.rows)


def table_draft(looked: LandedTable, generation: int) -> VersionDraft:
    """Create the version of the table's present state, to be published at that generation."""
    from headrace.spark.session import database_session

    source, record = looked.source, looked.plan.record
    with opened(connection(source.connection), database_session) as database:
        known = state(database, source)
    types = {name: type for name, (_, type) in columns_of(database_session(), source).items()}
    signature = _looked(looked.plan, source, known).signature
    identity = f"{signature}/{known.rows}/{generation}"
    return VersionDraft(
        dataset=record.key,
        partition=None,
        tag=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{sha256(identity.encode()).hexdigest()[:8]}",
        location=looked.location,
        format=record.format,
        columns=record.columns or tuple(Column(name, type) for name, type in types.items()),
        row_count=known.rows,
        byte_size=0,
        file_count=0,
        checksum=sha256(f"{signature}/{known.rows}".encode()).hexdigest(),
        idempotency_key=f"landed/{record.key}//{identity}",
        expected_generation=generation,
        checks=(_reads_as_declared(types, record.columns),),
        metadata={
            **record.metadata,
            **locator_metadata(JDBC_STORE, looked.locator),
            SIGNATURE: signature,
            OBSERVED: asdict(known),
        },
    )


def _reads_as_declared(types: Mapping[str, str], declared: Sequence[Column]) -> CheckResult:
    """Compare the columns with the declared ones; others warn, and are ignored."""
    found = {name.lower(): type for name, type in types.items()}
    wrong = [f"{column.name} is missing" for column in declared if column.name.lower() not in found]
    wrong += [
        f"{column.name} is {found[column.name.lower()]}, declared as {column.type}"
        for column in declared
        if column.name.lower() in found and not _fits(found[column.name.lower()], column.type)
    ]
    if wrong:
        return CheckResult(CHECK, CheckStatus.FAIL, detail={"error": "; ".join(wrong)})
    names = {column.name.lower() for column in declared}
    others = sorted(name for name in types if declared and name.lower() not in names)
    status = CheckStatus.WARN if others else CheckStatus.PASS
    return CheckResult(CHECK, status, detail={"not declared": others} if others else {})


def _fits(found: str, declared: str) -> bool:
    """Return True if all values of the type are ones of the declared type. Oracle's integers are decimals."""
    if found == declared or widens(found, declared) or decimal_widens(found, declared):
        return True
    if declared in _DIGITS and found.startswith("decimal(") and found.endswith(",0)"):
        return int(found.removeprefix("decimal(").partition(",")[0]) <= _DIGITS[declared]
    return (found, declared) == ("timestamp_ntz", "timestamp")
