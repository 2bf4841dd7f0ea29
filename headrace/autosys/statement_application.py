"""Apply statements in order: the resulting objects, and the steps that led to them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.autosys.findings import Finding
from headrace.autosys.jil.statements import Attribute, Statement
from headrace.autosys.jobs import job_type
from headrace.severity import Severity

_NULL = "NULL"  # as a value of an update: the attribute is cleared


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one statement other than a plain insert, for review.

    affected: every object that it changed or removed, by name; empty if it had nothing to act on.
    """

    statement: Statement
    affected: tuple[str, ...]


@dataclass(slots=True)
class Entry:
    """One object after the statements so far."""

    statement: Statement
    attributes: tuple[Attribute, ...]
    overrides: tuple[Attribute, ...] = ()


@dataclass(slots=True)
class AppliedStatements:
    """The final objects, by kind and name in order of insertion, and their history.

    missed: statements about objects that did not exist at that point.
    """

    objects: dict[str, dict[str, Entry]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    missed: list[Statement] = field(default_factory=list)
    _members: dict[str, list[str]] | None = None

    def of(self, kind: str) -> dict[str, Entry]:
        """Return the objects of one kind."""
        return self.objects.setdefault(kind, {})

    def members(self) -> dict[str, list[str]]:
        """Return the jobs in each box, possibly including deleted ones."""
        if self._members is None:
            self._members = {}
            for name, entry in self.of("job").items():
                for attribute in entry.attributes:
                    if attribute.name == "box_name" and attribute.value:
                        self._members.setdefault(attribute.value, []).append(name)
        return self._members

    def joined(self, statement: Statement) -> None:
        """Update the members after a statement has inserted a job."""
        box = statement.get("box_name") if self._members is not None else None
        if box and self._members is not None:
            self._members.setdefault(box, []).append(statement.name)

    def forget_members(self) -> None:
        """Update the members after a job was moved or renamed."""
        self._members = None


def apply(statements: Iterable[Statement]) -> AppliedStatements:
    """Apply the statements in order, like jil.

    An insert of an existing object is refused, as by jil; the statement is lost, with a finding. Only blobs, of which a
    job may have several, accumulate. `delete_box` deletes the members too, `delete_job` of a box leaves them without a
    box.
    """
    applied = AppliedStatements()
    jobs = applied.of("job")
    for statement in statements:
        if statement.action == "insert":
            there = jobs if statement.kind == "job" else applied.of(statement.kind)
            if statement.name not in there:
                there[statement.name] = Entry(statement, tuple(statement.attributes))
                applied.joined(statement)
            elif statement.kind == "blob":
                there[statement.name].attributes += tuple(
                    each._replace(file=statement.file) for each in statement.attributes
                )
            else:
                _duplicate(applied, there[statement.name].statement, statement)
        else:
            applied.steps.append(Step(statement, _change(applied, statement)))
    for statement in applied.missed:
        _nothing_there(applied, statement)
    return applied


def _change(applied: AppliedStatements, statement: Statement) -> tuple[str, ...]:
    kind, name = "job" if statement.kind == "box" else statement.kind, statement.name
    there = applied.of(kind)
    if name not in there:
        applied.missed.append(statement)
        return ()
    if statement.action == "delete":
        return _delete(applied, there, statement)
    entry = there[name]
    if statement.action == "rename" or statement.get("box_name") is not None:
        applied.forget_members()
    if statement.action == "override":
        if statement.rest != "delete":
            entry.overrides = _merged(entry.overrides, statement)
        elif entry.overrides:
            entry.overrides = ()
        else:
            return ()
    elif statement.action == "rename":
        new = statement.get("new_name") or statement.rest
        if not new or new in there:
            _cannot_rename(applied, statement, new)
            return ()
        there[new] = there.pop(name)
        return (name, new)
    else:
        entry.attributes = _merged(entry.attributes, statement)
    return (name,)


def _delete(applied: AppliedStatements, there: dict[str, Entry], statement: Statement) -> tuple[str, ...]:
    if statement.kind not in ("job", "box"):
        del there[statement.name]
        return (statement.name,)
    gone = {statement.name: None}
    if statement.kind == "box":
        waiting = [statement.name]
        for box in waiting:  # grows during iteration: boxes within boxes
            inside = [name for name in applied.members().get(box, ()) if name in there and name not in gone]
            gone.update(dict.fromkeys(inside))
            waiting += inside
    elif job_type(there[statement.name].statement.get("job_type") or "") == "BOX":
        for name in applied.members().get(statement.name, ()):
            if name in there:
                there[name].attributes = tuple(
                    each for each in there[name].attributes if each.name != "box_name"
                )
        applied.forget_members()
    for name in gone:
        del there[name]
    return tuple(gone)


def _merged(before: tuple[Attribute, ...], statement: Statement) -> tuple[Attribute, ...]:
    """Merge attributes: updated ones replace the old values, new ones come last, cleared ones are removed."""
    by_name: dict[str, list[Attribute]] = {}
    for change in statement.attributes:
        by_name.setdefault(change.name, []).append(change._replace(file=statement.file))
    merged: list[Attribute] = []
    for attribute in before:
        if attribute.name not in by_name:
            merged.append(attribute)
        elif by_name[attribute.name]:
            merged += _kept(by_name[attribute.name])
            by_name[attribute.name] = []
    return tuple(merged) + tuple(each for rest in by_name.values() for each in _kept(rest))


def _kept(changes: list[Attribute]) -> list[Attribute]:
    return [each for each in changes if each.value != _NULL]


def _duplicate(applied: AppliedStatements, first: Statement, second: Statement) -> None:
    same = first.meaning == second.meaning
    applied.findings.append(
        Finding(
            "estate/duplicate",
            Severity.INFO if same else Severity.ERROR,
            f"{second.kind} {second.name} was inserted before, at {first.file}:{first.line}, "
            + (
                "with the same attributes"
                if same
                else "with other attributes; the first counts, as it does for jil"
            ),
            second.file,
            second.line,
            second.name,
            hint=None if same else f"use update_{second.kind} for changes, or remove one of them",
        )
    )


def _cannot_rename(applied: AppliedStatements, statement: Statement, new: str) -> None:
    message = f"rename_{statement.kind}: {f'{new} already exists' if new else 'no new name is given'}"
    applied.findings.append(
        Finding("estate/rename", Severity.ERROR, message, statement.file, statement.line, statement.name)
    )


def _nothing_there(applied: AppliedStatements, statement: Statement) -> None:
    word = f"{statement.action}_{statement.kind}"
    later = applied.of("job" if statement.kind == "box" else statement.kind).get(statement.name)
    applied.findings.append(
        Finding(
            "estate/nothing-to-change",
            Severity.WARNING,
            f"{word}: no such {statement.kind} at this point",
            statement.file,
            statement.line,
            statement.name,
            hint=f"it is inserted later, at {later.statement.file}:{later.statement.line}; give that file first"
            if later is not None
            else "add the file that inserts it",
        )
    )
