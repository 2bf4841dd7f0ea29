"""Contracts that consumers pin: a file for each in the project's folder contracts/, compared with declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.contracts.comparison import Change, as_stated, changes
from headrace.contracts.document import FIRST_VERSION, contract, text_of
from headrace.contracts.reading import Contract, read_contract
from headrace.contracts.terms import Terms
from headrace.execution.problems import DeclarationError

FOLDER = "contracts"
_SUFFIX = ".odcs.yaml"
_CONSUMER = re.compile(r"[A-Za-z0-9_-]+")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class InvalidConsumer(Exception):
    """A name of a consumer that cannot be part of a file's name."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pinned contract, and the consumer who relies on it."""

    consumer: str
    contract: Contract


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes since a contract. consumer: None for a file that is not in the folder of pinned contracts."""

    file: Path
    consumer: str | None
    version: str
    changes: tuple[Change, ...]

    @property
    def breaking(self) -> tuple[Change, ...]:
        """The changes that break a reader who relies on the contract."""
        return tuple(change for change in self.changes if change.breaking)


def pin(root: Path, terms: Terms, consumer: str) -> Path:
    """Write the contract that a consumer relies on; returns its file.

    Its version grows with the changes since the one pinned before: the first number if any of them breaks a reader,
    otherwise the second. Raises InvalidConsumer, DeclarationError.
    """
    if not _CONSUMER.fullmatch(consumer):
        raise InvalidConsumer(
            f"{consumer!r} is not a name of a consumer: use letters, digits, hyphens and underscores"
        )
    file = root / FOLDER / f"{terms.domain}.{terms.name}.{consumer}{_SUFFIX}"
    version = FIRST_VERSION
    if file.exists():
        before = read_contract(file)
        version = _next_version(before.version, _changes(before, before.terms[0], terms))
    file.parent.mkdir(exist_ok=True)
    draft = file.with_name(f".{file.name}")
    draft.write_text(text_of(contract(terms, version)), encoding="utf-8")
    draft.replace(file)
    return file


def pinned_contracts(root: Path) -> Iterator[Pinned | DeclarationError]:
    """Yield the pinned contracts of a project, and the problems of those that cannot be read."""
    for file in sorted((root / FOLDER).glob(f"*{_SUFFIX}")):
        try:
            yield Pinned(file.name.removesuffix(_SUFFIX).rpartition(".")[2], read_contract(file))
        except DeclarationError as error:
            yield error


def compare_pinned(root: Path, terms: Terms) -> list[Comparison]:
    """Compare a dataset with the contracts that are pinned of it. Raises DeclarationError."""
    found: list[Comparison] = []
    for each in pinned_contracts(root):
        if isinstance(each, DeclarationError):
            raise each
        found += compare_contract(each, {terms.key: terms})
    return found


def compare_file(file: Path, terms: Terms) -> Comparison:
    """Compare a dataset with a contract in any file. Raises DeclarationError."""
    contract = read_contract(file)
    before = next((each for each in contract.terms if each.name == terms.name), contract.terms[0])
    return Comparison(file, None, contract.version, tuple(_changes(contract, before, terms)))


def compare_contract(pinned: Pinned, present: Mapping[str, Terms]) -> Iterator[Comparison]:
    """Yield the changes of the datasets that are still declared, by key, since a contract was pinned."""
    contract = pinned.contract
    for terms in contract.terms:
        if terms.key in present:
            found = tuple(_changes(contract, terms, present[terms.key]))
            yield Comparison(contract.file, pinned.consumer, contract.version, found)


def _changes(contract: Contract, before: Terms, after: Terms) -> list[Change]:
    return changes(before if contract.is_exported else as_stated(before, after), after)


def _next_version(version: str, found: list[Change]) -> str:
    match = _VERSION.fullmatch(version)
    if match is None or not found:
        return version if match is not None else FIRST_VERSION
    major, minor, _ = map(int, match.groups())
    is_breaking = any(change.breaking for change in found)
    return f"{major + 1}.0.0" if is_breaking else f"{major}.{minor + 1}.0"
