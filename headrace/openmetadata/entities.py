"""Entities: made where they are not there, patched where they differ, deleted softly where they are gone here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import httpx

from headrace.openmetadata import models
from headrace.openmetadata.client import Found, Json, RequestRefused, by_name
from headrace.openmetadata.mapping import PROPERTIES, Desired
from headrace.openmetadata.merging import merge
from headrace.openmetadata.session import Change, Outcome, Session
from headrace.openmetadata.state import PATHS, PENDING, Kind, Sent, digest

_FIELDS = "owners,tags,domains,dataProducts,extension"
_MERGES = 10  # of one entity that others change at the same time
_GOVERNED = {Kind.TABLE: f"{_FIELDS},columns,tableConstraints", Kind.PIPELINE: f"{_FIELDS},tasks"}


class Entities:
    """The entities of one synchronisation."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._there: dict[tuple[Kind, str], Json] = {}  # those of lists, by kind and FQN
        self._is_listed = False

    def ensure(
        self, what: str, desired: Iterable[Desired], *, at_once: bool = True
    ) -> list[tuple[Outcome, Desired]]:
        """Bring entities there; returns the outcomes of those that were compared with what is there."""
        todo = [each for each in desired if self._may_differ(each)]
        compared = []
        for each, outcome in self._session.each(what, self._guarded, todo, at_once=at_once):
            self._session.note(outcome)
            if outcome.current is not None:
                compared.append((outcome, each))
        return compared

    def _may_differ(self, desired: Desired) -> bool:
        sent = self._session.state.get(desired.kind, desired.key)
        if desired.is_gone:
            return sent is not None and not sent.is_deleted
        is_same = sent is not None and sent.digest == _digest(desired) and not sent.is_deleted
        return not is_same or self._session.is_verifying or desired.fqn in self._session.touched

    def _guarded(self, desired: Desired) -> Outcome:
        try:
            return self._ensured(desired)
        except RequestRefused as refused:
            hint = ""
            if refused.status == httpx.codes.NOT_FOUND:  # of a tag or domain that it refers to
                hint = " (`headrace openmetadata sync --whole` makes tags and domains again that were renamed there)"
            return self._refused(desired, f"{desired.about or desired.fqn}: {refused}{hint}")

    def _refused(self, desired: Desired, problem: str) -> Outcome:
        """Return the outcome of an entity that is to be tried again the next time."""
        sent = self._session.state.get(desired.kind, desired.key)
        if desired.kind not in PENDING:
            return Outcome(problem=problem)
        row = sent or Sent(desired.kind, desired.key, desired.fqn, None, {}, "", desired.parent)
        return Outcome(problem=problem, store=replace(row, digest=""))

    def _ensured(self, desired: Desired) -> Outcome:
        path = PATHS[desired.kind]
        sent = self._session.state.get(desired.kind, desired.key)
        if desired.is_gone:
            return self._delete(desired, sent)
        if desired.kind is Kind.TEST_CASE and sent is not None and sent.fqn != desired.fqn:
            sent = self._moved(desired, sent)
        found = self._find(desired, sent)
        if found is None:
            return self._create(desired, path)
        entity = found.entity
        if entity.get("deleted"):
            if sent is None or not sent.is_deleted:
                return self._refused(
                    desired,
                    f"{desired.about}: deleted in OpenMetadata ({desired.fqn}), and left so. Restore it there, or "
                    "retire it here: `headrace retire`.",
                )
            if not self._session.is_dry:
                self._session.client.put(f"{path}/restore", {"id": entity["id"]})
            return self._update(desired, path, None, Found({**entity, "deleted": False}, None), "restore")
        return self._update(desired, path, sent, found, "update")

    def _moved(self, desired: Desired, sent: Sent) -> Sent:
        """Delete the test case that is about another column now, since its FQN names the former one."""
        self._delete(desired, sent)
        return replace(sent, entity_id=None, is_deleted=True)

    def _find(self, desired: Desired, sent: Sent | None) -> Found | None:
        """Return the entity: by its id if it was sent; those that others refer to by name, by their name."""
        if self._is_listed and sent is None and desired.kind in _GOVERNED:
            entity = self._there.get((desired.kind, desired.fqn))
            return Found(entity, None) if entity else None
        path, given = PATHS[desired.kind], {"include": "all"}
        if desired.kind in _GOVERNED:
            given["fields"] = _GOVERNED[desired.kind]
        has_id = sent is not None and sent.entity_id is not None and desired.kind in PENDING
        if (
            sent is not None
            and has_id
            and (found := self._session.client.find(f"{path}/{sent.entity_id}", **given))
        ):
            return found
        return self._session.client.find(by_name(path, desired.fqn), **given)

    def _create(self, desired: Desired, path: str) -> Outcome:
        change = Change("create", desired.kind, desired.about or desired.fqn)
        if self._session.is_dry:
            return Outcome(change)
        entity = self._session.client.put(path, desired.body)
        if desired.kind is Kind.TABLE:
            self._session.created.add(desired.key)
        if desired.status:
            patch = [{"op": "add", "path": "/entityStatus", "value": desired.status}]
            self._session.client.patch(f"{path}/{entity['id']}", patch, None)
        return Outcome(change, store=_row(desired, entity))

    def _update(self, desired: Desired, path: str, sent: Sent | None, found: Found, action: str) -> Outcome:
        """Patch what differs, on what is there now: if another changes it in between, it is read and merged again."""
        if desired.kind not in _GOVERNED:  # what is there of these is left alone, except test cases
            return self._update_plain(desired, path, found, sent)
        before = None if sent is None else sent.sent
        for _ in range(_MERGES):
            merged = merge(desired.body, before, found.entity, self._session.settings.fields, desired.status)
            change = Change(action, desired.kind, desired.about or desired.fqn, merged.changed)
            is_changed = bool(merged.operations) or action == "restore"
            if self._session.is_dry or not merged.operations:
                break
            if (
                self._session.client.patch(f"{path}/{found.entity['id']}", merged.operations, found.etag)
                is not None
            ):
                break
            again = self._session.client.find(f"{path}/{found.entity['id']}", fields=_GOVERNED[desired.kind])
            if again is None:
                return self._create(desired, path)
            found = again
        else:
            raise RequestRefused(
                httpx.codes.PRECONDITION_FAILED,
                f"another changed it each time it was merged, or a proxy changes the ETag ({_MERGES} times)",
            )
        return Outcome(
            change if is_changed else None, store=_row(desired, found.entity), differences=merged.differences,
            current=found.entity,
        )  # fmt: skip

    def _update_plain(self, desired: Desired, path: str, found: Found, sent: Sent | None) -> Outcome:
        changed = {
            name: (found.entity.get(name), value)
            for name, value in desired.body.items()
            if name in ("description", "displayName", "parameterValues") and found.entity.get(name) != value
        }
        if sent is None or not changed or desired.kind is not Kind.TEST_CASE:
            return Outcome(store=_row(desired, found.entity))
        if not self._session.is_dry:
            patch = [
                {"op": "add", "path": f"/{name}", "value": value} for name, (_, value) in changed.items()
            ]
            # Without its ETag: the values replace what is there, whatever else changed.
            self._session.client.patch(f"{path}/{found.entity['id']}", patch, None)
        return Outcome(
            Change("update", desired.kind, desired.fqn, changed), store=_row(desired, found.entity)
        )

    def _delete(self, desired: Desired, sent: Sent | None) -> Outcome:
        assert sent is not None  # noqa: S101 - otherwise there is nothing to delete
        change = Change("delete", desired.kind, desired.about or desired.fqn)
        if not self._session.is_dry and sent.entity_id is not None:
            self._session.client.delete(
                f"{PATHS[desired.kind]}/{sent.entity_id}", hardDelete="false", recursive="true"
            )
        return Outcome(change, store=replace(sent, is_deleted=True))

    def read_lists(self, database: str) -> None:
        """Read what is there as lists: the first time there are many, and one request for each costs more."""
        for kind, above in (
            (Kind.TABLE, {"database": database}),
            (Kind.PIPELINE, {"service": self._session.settings.service}),
        ):
            self._session.on_progress(f"reading the {PATHS[kind]} that are there")
            for entity in self._session.client.pages(
                PATHS[kind], include="all", fields=_GOVERNED[kind], **above
            ):
                self._there[kind, entity["fullyQualifiedName"]] = entity
        self._is_listed = True

    def ensure_properties(self) -> None:
        """Declare the custom properties of tables that Headrace fills."""
        known = self._session.state.get(Kind.CLASSIFICATION, "properties")
        if self._session.is_dry or (known is not None and known.sent.get("names") == sorted(PROPERTIES)):
            return
        table = self._session.client.get("metadata/types/name/table", fields="customProperties")
        there = {each["name"] for each in table.get("customProperties") or ()}
        text = models.Reference(id=self._session.client.get("metadata/types/name/string")["id"], type="type")
        for name, description in PROPERTIES.items():
            if name not in there:
                body = models.CustomProperty(
                    name=name, display_name=description, description=description, property_type=text
                )
                self._session.client.put(f"metadata/types/{table['id']}", body.dump())
        self._session.state.store(
            Sent(Kind.CLASSIFICATION, "properties", "properties", None, {"names": sorted(PROPERTIES)}, "")
        )


def _row(desired: Desired, entity: Json) -> Sent:
    sent = {**desired.body, **({"entityStatus": desired.status} if desired.status else {})}
    return Sent(desired.kind, desired.key, desired.fqn, entity["id"], sent, _digest(desired), desired.parent)


def _digest(desired: Desired) -> str:
    return digest([desired.body, desired.status])
