"""A synchronisation that is killed at random, between changes on both sides, compared with one that never is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx
from sqlalchemy import Engine

from headrace.catalog.records import (
    CheckResult,
    CheckStatus,
    Column,
    DatasetRecord,
    ProcessRecord,
    VersionDraft,
)
from headrace.openmetadata import state
from headrace.openmetadata.client import Client
from headrace.openmetadata.synchronisation import synchronise
from headrace.publishing.publication import generations, publish
from headrace.registration.declarations import register
from headrace.settings import OpenMetadataSettings
from tests.platform.openmetadata.server import TOKEN, Contract, Entity, Refused, Request, transport

_WORDS = ("raw", "clean", "daily", "final", "audited")


class Killed(BaseException):
    """The process is gone: nothing catches it, and nothing is stored on the way out."""


@dataclass
class Both:
    """A catalog, and two servers that are synchronised with it: one without interruption."""

    engine: Engine
    datasets: list[DatasetRecord]
    processes: Sequence[ProcessRecord]
    killed: Contract
    undisturbed: Contract
    random: random.Random
    max_requests: int = 25  # before a synchronisation is killed
    kills: int = 0
    versions: int = 0

    def round(self) -> None:
        """Change something on both sides, and synchronise both servers; the one is killed on the way."""
        self._change_here()
        self._change_there()
        synchronise_once(self.engine, self.undisturbed, "http://undisturbed/api")
        while not self._until_killed():
            self.kills += 1
        # A second one finds nothing more to do, except what the first read from the stewards.
        synchronise_once(self.engine, self.killed, "http://killed/api")

    def _until_killed(self) -> bool:
        """Synchronise; True if it was not killed."""
        left = self.random.randint(1, self.max_requests)
        in_effect, busy = self.random.random() < 0.5, self.random.random() < 0.2

        def die(request: Request) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed(str(request))
            if busy and left % 7 == 0:
                raise Refused(429, "busy", **{"Retry-After": "0"})
            if busy and left % 11 == 0:
                raise httpx.ReadTimeout("slow")

        if in_effect:
            self.killed.after = die
        else:
            self.killed.before = die
        state.BATCH_SIZE = self.random.randint(1, 20)
        try:
            synchronise_once(self.engine, self.killed, "http://killed/api")
        except Killed:
            return False
        finally:
            self.killed.before = self.killed.after = lambda _: None
            state.BATCH_SIZE = 200
        return True

    def _change_here(self) -> None:
        for _ in range(3):
            index = self.random.randrange(len(self.datasets))
            before = self.datasets[index]
            match self.random.randrange(4):
                case 0:
                    changed = replace(
                        before, description=f"{self.random.choice(_WORDS)} {self.random.random()}"
                    )
                case 1:
                    changed = replace(before, tags={**before.tags, "layer": self.random.choice(_WORDS)})
                case 2 if len(before.columns) > 1 and not before.checks:
                    changed = replace(before, columns=before.columns[:-1])
                case _:
                    name = f"extra_{self.random.randrange(5)}"
                    others = [each for each in before.columns if each.name != name]
                    changed = replace(
                        before, columns=(*others, Column(name, self.random.choice(["int", "string"])))
                    )
            self.datasets[index] = changed
        register(self.engine, self.datasets, self.processes)
        checked = [each for each in self.datasets if each.checks and not each.partitions]
        if checked:
            self.versions += 1
            record = self.random.choice(checked)
            generation = generations(self.engine, [(record.key, None)])[record.key, None]
            publish(self.engine, None, [_version(record, self.versions, generation, self.random)])

    def _change_there(self) -> None:
        tables = sorted(each["fullyQualifiedName"] for each in self.undisturbed.all("table"))
        if not tables:
            return
        for _ in range(2):
            fqn, field = self.random.choice(tables), self.random.choice(["description", "tags", "column"])
            text, index = f"by a steward {self.random.random()}", self.random.randrange(3)
            for server in (self.undisturbed, self.killed):
                if ("table", fqn) not in server.names:
                    continue
                table = server.find("table", fqn)
                server.steward(table, **_steward_changes(table, field, text, index))


def synchronise_once(engine: Engine, server: Contract, url: str) -> None:
    """Synchronise with a server; it must have no problem but owners that it does not have."""
    client = Client(url, TOKEN, transport=transport(server), pause=lambda _: None)
    result = synchronise(engine, client, OpenMetadataSettings(url=url))
    problems = [each for each in result.problems if not each.startswith("OpenMetadata has no ")]
    assert not problems, problems


def contents(server: Contract) -> dict[str, Any]:
    """Return all that a server has, by names instead of ids, and without times and versions."""
    names = {each["id"]: f"{each['_type']} {each['fullyQualifiedName']}" for each in server.entities.values()}
    entities = [_plain(each, names) for each in server.entities.values()]
    found = {f"{each['_type']} {each['fullyQualifiedName']}": each for each in entities}
    assert len(found) == len(entities), "an entity is there twice"
    return {
        "entities": found,
        "edges": {
            (names[source], names[target]): _plain(edge, names)
            for (source, target), edge in server.edges.items()
        },
        "profiles": {key: _plain(each, names) for key, each in server.profiles.items()},
        "results": server.results,
        "statuses": server.statuses,
        "incidents": sorted(
            (each["testCaseReference"]["fullyQualifiedName"], each["testCaseResolutionStatusType"])
            for each in server.incidents
        ),
    }


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        dropped = ("version", "updatedAt", "createdAt", "href")
        return {
            key: _plain(each, names)
            for key, each in value.items()
            if key not in dropped and each not in (None, [])
        }
    if isinstance(value, list):
        plain = [_plain(each, names) for each in value]
        is_labels = all(isinstance(each, dict) and "tagFQN" in each for each in plain)
        return sorted(plain, key=lambda each: each["tagFQN"]) if is_labels else plain
    return names.get(value, value) if isinstance(value, str) else value


def _steward_changes(table: Entity, field: str, text: str, index: int) -> Entity:
    if field == "description":
        return {"description": text}
    if field == "tags":
        label = {
            "tagFQN": f"Tier.Tier{index + 1}",
            "source": "Classification",
            "labelType": "Manual",
            "state": "Confirmed",
        }
        others = [each for each in table.get("tags") or () if not each["tagFQN"].startswith("Tier.")]
        return {"tags": [*others, label]}
    columns = [dict(each) for each in table["columns"]]
    if columns:
        columns[min(index, len(columns) - 1)]["description"] = text
    return {"columns": columns}


def _version(record: DatasetRecord, number: int, generation: int, chance: random.Random) -> VersionDraft:
    results = tuple(
        CheckResult(
            check.name, CheckStatus.WARN if chance.random() < 0.3 else CheckStatus.PASS, chance.randrange(3)
        )
        for check in record.checks
    )
    return VersionDraft(
        dataset=record.key, partition=None, tag=f"v{number}", location=f"file:/w/{record.key}/v{number}",
        format="parquet", columns=record.columns, row_count=10, byte_size=100, file_count=1, checksum=str(number),
        idempotency_key=f"v{number}", expected_generation=generation, checks=results,
        statistics={each.name: {"null_count": 0} for each in record.columns},
    )  # fmt: skip
