"""Profiles of versions, results of checks and statuses of runs: each is sent once; sent again, it replaces itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from headrace.access.sensitivity import MASK
from headrace.openmetadata import models
from headrace.openmetadata.catalog import Row
from headrace.openmetadata.client import Client, RequestRefused
from headrace.openmetadata.mapping import EntityMapping
from headrace.openmetadata.names import entity_name
from headrace.openmetadata.state import Kind, Sent, State, milliseconds

_SAMPLE_ROWS = 50  # of a failed check
_STATUSES = {"PASS": "Success", "WARN": "Failed", "FAIL": "Failed"}
_RUNS = {"SUCCESS": "Successful", "SKIPPED": "Skipped"}  # others failed
_SERVER_FAILED = 500  # the least status of HTTP for it
Progress = tuple[int, str | None]  # requests sent, and a problem


class Series:
    """The measures and statuses of one synchronisation.

    sends_values: also extremes of columns, and rows that failed checks. refused_since: the time of the oldest measure
    that a failing server refused; it and those after it of the same dataset or process are for the next time.
    """

    def __init__(
        self,
        client: Client,
        state: State,
        sends_values: bool,
        hidden: Mapping[str, frozenset[str]],
        *,
        is_dry: bool,
    ) -> None:
        self._client = client
        self._state = state
        self._sends_values = sends_values
        self._hidden = hidden
        self._is_dry = is_dry
        self.refused_since: datetime | None = None
        self._stopped: set[str] = set()

    def of_versions(self, versions: Iterable[Row], mapping: EntityMapping) -> Iterator[Progress]:
        """Send the profile and the results of each version that is newer than those of its dataset that were sent."""
        for row in versions:
            key = str(row["dataset_id"])
            table, at = self._state.get(Kind.TABLE, key), milliseconds(row["produced_at"])
            last = self._state.get(Kind.PROFILE, key)
            if (
                table is None
                or table.entity_id is None
                or table.is_deleted
                or key in self._stopped
                or self._is_sent(last, row["produced_at"], row["tag"], row["partition_key"])
            ):
                continue
            at = max(at, last.sent["at"] + 1 if last else at)  # partitions of one run have one time
            hidden = self._hidden.get(mapping.keys.get(key, ""), frozenset())
            sent = 0
            try:
                if row["outcome"] == "PUBLISHED":
                    sent += self._put(
                        f"tables/{table.entity_id}/tableProfile", self._profile(row, at, hidden, table)
                    )
                for result in row["results"]:
                    sent += self._result(key, row, result, at, hidden)
            except RequestRefused as refused:
                yield sent, f"measures of {table.fqn}: {refused}"
                if self._is_for_next_time(refused, key, row["produced_at"]):
                    continue
            else:
                yield sent, None
            produced = row["produced_at"].isoformat()
            same = last.sent["of"] if last and last.sent["produced_at"] == produced else []
            newest = {
                "at": at,
                "produced_at": produced,
                "of": [*same, f"{row['tag']}/{row['partition_key']}"],
            }
            self._state.store(Sent(Kind.PROFILE, key, table.fqn, None, newest, ""))

    def of_runs(self, runs: Iterable[Row]) -> Iterator[Progress]:
        """Send the status of each run that ended after those of its process that were sent."""
        for row in runs:
            key = str(row["process_id"])
            pipeline = self._state.get(Kind.PIPELINE, key)
            last = self._state.get(Kind.STATUS, key)
            ended = row["ended_at"].isoformat()
            known = last.sent if last else {"at": "", "of": []}
            if pipeline is None or pipeline.entity_id is None or pipeline.is_deleted:
                continue
            if str(row["run_id"]) in known["of"] or key in self._stopped:
                continue
            status = _RUNS.get(row["status"], "Failed")
            start, end = milliseconds(row["started_at"]), milliseconds(row["ended_at"])
            tasks = [each["name"] for each in pipeline.sent.get("tasks") or ()]
            body = models.RunStatus(
                timestamp=start,
                execution_status=status,  # type: ignore[arg-type]
                execution_id=str(row["run_id"]),
                end_time=end,
                task_status=tuple(
                    models.TaskStatus(name=name, execution_status=status, start_time=start, end_time=end)  # type: ignore[arg-type]
                    for name in tasks
                ),
                error={"errorType": row["failure_kind"]}
                if row["failure_kind"] and status == "Failed"
                else None,
            )
            try:
                yield self._put(f"pipelines/{quote(pipeline.fqn, safe='')}/status", body), None
            except RequestRefused as refused:
                yield 0, f"runs of {pipeline.fqn}: {refused}"
                if self._is_for_next_time(refused, key, row["ended_at"]):
                    continue
            newest = {"at": max(ended, known["at"]), "of": [*known["of"], str(row["run_id"])][-200:]}
            self._state.store(Sent(Kind.STATUS, key, pipeline.fqn, None, newest, ""))

    def _is_for_next_time(self, refused: RequestRefused, key: str, at: datetime) -> bool:
        """Return True if the server failed, so that it may take the same later; what it finds invalid stays invalid."""
        if refused.status < _SERVER_FAILED:
            return False
        self._stopped.add(key)
        self.refused_since = min(at, self.refused_since or at)
        return True

    @staticmethod
    def _is_sent(last: Sent | None, at: datetime, tag: str, partition: str) -> bool:
        if last is None:
            return False
        newest = datetime.fromisoformat(last.sent["produced_at"])
        return at < newest or (at == newest and f"{tag}/{partition}" in last.sent["of"])

    def _profile(self, row: Row, at: int, hidden: frozenset[str], table: Sent) -> models.Profile:
        known = {each["name"] for each in table.sent.get("columns") or ()}
        columns = []
        for name, measured in sorted(row["statistics"].items()):
            if entity_name(name) not in known or not isinstance(measured, dict):
                continue
            of_values = {}
            if name not in hidden:
                of_values = _counts_of_values(measured) | (_values(measured) if self._sends_values else {})
            nulls, rows = measured.get("null_count"), row["row_count"]
            columns.append(
                models.ColumnMeasures(
                    name=entity_name(name),
                    timestamp=at,
                    null_count=nulls,
                    null_proportion=nulls / rows if nulls is not None and rows else None,
                    values_count=rows - nulls if nulls is not None and rows is not None else None,
                    **of_values,
                )
            )
        whole = models.TableMeasures(
            timestamp=at, column_count=len(known), row_count=row["row_count"], size_in_byte=row["byte_size"]
        )
        return models.Profile(
            table_profile=whole, column_profile=tuple(columns), system_profile=_written(row, at)
        )

    def _result(self, dataset: str, row: Row, result: Row, at: int, hidden: frozenset[str]) -> int:
        case = self._state.get(Kind.TEST_CASE, f"{dataset}/{result['name']}")
        if case is None or case.entity_id is None or case.is_deleted:
            return 0  # a check that is not declared any more
        failed, rows = result["failed_rows"], row["row_count"]
        partition = f", partition {row['partition_key']}" if row["partition_key"] else ""
        body = models.Result(
            timestamp=at,
            test_case_status=_STATUSES[result["status"]],  # type: ignore[arg-type]
            result=f"{result['status']} on version {row['tag']}{partition}",
            test_result_value=(
                models.Parameter(name="failedRows", value="" if failed is None else str(failed)),
            ),
            failed_rows=failed,
            passed_rows=rows - failed if rows is not None and failed is not None and rows >= failed else None,
        )
        sent = self._put(f"dataQuality/testCases/testCaseResults/{quote(case.fqn, safe='')}", body, "POST")
        examples = [each for each in result["detail"].get("examples") or () if isinstance(each, dict)][
            :_SAMPLE_ROWS
        ]
        if self._sends_values and examples:
            columns = sorted({name for each in examples for name in each})
            masked = self._masked(dataset, columns, hidden)
            sample = {
                "columns": columns,
                "rows": [
                    [MASK if name in masked else each.get(name) for name in columns] for each in examples
                ],
            }
            if not self._is_dry:
                self._client.put(f"dataQuality/testCases/{case.entity_id}/failedRowsSample", sample)
            sent += 1
        return sent

    def _masked(self, dataset: str, names: Iterable[str], hidden: frozenset[str]) -> set[str]:
        """Return the names of examples that may have values of sensitive columns.

        SQL ignores case; and a name that is not a column, such as an alias or a field, can be of a sensitive one.
        """
        table = self._state.get(Kind.TABLE, dataset)
        known = {each["name"].lower() for each in (table.sent.get("columns") or ())} if table else set()
        sensitive = {each.lower() for each in hidden}
        return {
            each
            for each in names
            if sensitive and (each.lower() in sensitive or entity_name(each).lower() not in known)
        }

    def _put(self, path: str, body: models.Body, method: str = "PUT") -> int:
        if not self._is_dry:
            send: Any = self._client.put if method == "PUT" else self._client.post
            send(path, body.dump())
        return 1


def _written(row: Row, at: int) -> tuple[models.SystemMeasures, ...]:
    """Return how many rows the publish of a version wrote, if they are known: all of them, or those appended."""
    if row["written_rows"] is None:
        return ()
    operation: Literal["INSERT", "WRITE"] = "INSERT" if row["is_appended"] else "WRITE"
    return (models.SystemMeasures(timestamp=at, operation=operation, rows_affected=row["written_rows"]),)


def _counts_of_values(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures of a column that are no values of it."""
    length = measured.get("length")
    found: dict[str, Any] = {"distinct_count": measured.get("distinct_count")}
    if isinstance(length, Mapping):
        found |= {"min_length": length["min"], "max_length": length["max"]}
    return {name: value for name, value in found.items() if value is not None}


def _values(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extremes of a column, and the mean and quartiles of numbers: the schema has no times there."""
    found = {name: measured.get(name) for name in ("min", "max", "mean")}
    quantiles: Mapping[str, Any] = measured.get("quantiles") or {}
    quartiles = [quantiles.get(name) for name in ("p25", "p50", "p75")]
    numbers = [each for each in quartiles if isinstance(each, int | float)]
    if len(numbers) == len(quartiles):
        low, median, high = numbers
        found |= {"first_quartile": low, "median": median, "third_quartile": high}
    return {name: value for name, value in found.items() if value is not None}
