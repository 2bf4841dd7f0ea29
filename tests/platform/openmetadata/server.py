"""A server with OpenMetadata's contract: it validates bodies, keeps versions and events, and refuses what that refuses.

`Contract.answer` is the server without a network; `transport` lets an httpx client talk to it in this process,
`serving` over a socket. What is imitated from OpenMetadata's published sources: a bot's PUT keeps descriptions, owners
and domains that are not empty, and adds tags (only PATCH replaces them); names are immutable; PUT of an edge replaces
it; an edge with a column that its table does not have is refused; a failed test result opens an incident; deletion is
soft.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import httpx

from tests.platform.openmetadata import contract

Entity = dict[str, Any]
TOKEN = "bot-token"  # noqa: S105
STEWARD = "steward-token"
USERS = {TOKEN: "headrace-bot", STEWARD: "ada"}


@dataclass(frozen=True)
class Collection:
    """Entities of one type. body: of their creation. parent: the field that names the entity above."""

    type: str
    body: str | None
    parent: str | None = None


COLLECTIONS = {
    "services/databaseServices": Collection("databaseService", "api/services/createDatabaseService"),
    "services/pipelineServices": Collection("pipelineService", "api/services/createPipelineService"),
    "databases": Collection("database", "api/data/createDatabase", "service"),
    "databaseSchemas": Collection("databaseSchema", "api/data/createDatabaseSchema", "database"),
    "tables": Collection("table", "api/data/createTable", "databaseSchema"),
    "pipelines": Collection("pipeline", "api/data/createPipeline", "service"),
    "classifications": Collection("classification", "api/classification/createClassification"),
    "tags": Collection("tag", "api/classification/createTag", "classification"),
    "domains": Collection("domain", "api/domains/createDomain"),
    "dataProducts": Collection("dataProduct", "api/domains/createDataProduct"),
    "dataQuality/testDefinitions": Collection("testDefinition", "api/tests/createTestDefinition"),
    "dataQuality/testCases": Collection("testCase", "api/tests/createTestCase"),
    "glossaryTerms": Collection("glossaryTerm", None),
    "teams": Collection("team", None),
    "users": Collection("user", None),
}
_PARENTS = {"service": ("databaseService", "pipelineService"), "database": ("database",),
            "databaseSchema": ("databaseSchema",), "classification": ("classification",)}  # fmt: skip
_IMMUTABLE = ("id", "name", "fullyQualifiedName", "version")


class Refused(Exception):
    """An answer other than success."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


@dataclass
class Request:
    """A request as the contract sees it. path: below /api/v1."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class Contract:
    """The state. before, after: called for each request, to fail it before or after it has its effect."""

    version: str = "2.0.0"
    entities: dict[str, Entity] = field(default_factory=dict)  # by id
    edges: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    profiles: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    statuses: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    results: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    samples: dict[str, dict[str, Any]] = field(default_factory=dict)
    incidents: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, list[Entity]] = field(default_factory=dict)
    properties: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    before: Callable[[Request], None] = lambda _: None
    after: Callable[[Request], None] = lambda _: None
    clock: int = field(default_factory=lambda: int(time.time() * 1000))
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        for name in ("flight_data", "ops"):
            self.seed("teams", name=name)
        for name in ("ops", "ada", "grace", "headrace-bot"):
            self.seed("users", name=name, isBot=name == "headrace-bot")
        for group, names in {"PII": ("Sensitive",), "Tier": ("Tier1", "Tier2", "Tier3")}.items():
            self.seed("classifications", name=group)
            for name in names:
                self.seed("tags", name=name, classification=group)

    # What a test does and looks at without HTTP.

    def seed(self, collection: str, **given: Any) -> Entity:
        """Create an entity without validation, as an administrator has before."""
        return self._stored(collection, given, "admin")

    def find(self, kind: str, fqn: str) -> Entity:
        return self.entities[self.names[kind, fqn]]

    def all(self, kind: str, *, deleted: bool = False) -> list[Entity]:
        return [
            each for each in self.entities.values() if each["_type"] == kind and each["deleted"] == deleted
        ]

    def steward(self, entity: Entity, **changes: Any) -> None:
        """Change fields of an entity as a steward does in the UI."""
        self._update(entity, {**entity, **changes}, "ada")

    def write_edge(self, source: str, target: str, /, **details: Any) -> None:
        """Write an edge as another program or a person does."""
        self.edges[source, target] = {**self.edges.get((source, target), {}), **details}

    # The server.

    def answer(self, request: Request) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body."""
        with self._lock:
            self.requests.append(str(request))
            try:
                self.before(request)
                status, headers, body = self._route(request)
                self.after(request)
            except Refused as refused:
                return refused.status, refused.headers, {"code": refused.status, "message": str(refused)}
        return status, headers, body

    def _route(self, request: Request) -> tuple[int, dict[str, str], Any]:
        if request.path == "system/version":
            return 200, {}, {"version": self.version, "revision": "0", "timestamp": self.clock}
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in USERS:
            raise Refused(401, "Token is not valid")
        user = USERS[token]
        name = next((each for each in COLLECTIONS if f"{request.path}/".startswith(f"{each}/")), "")
        rest = request.path.removeprefix(name).strip("/")
        match request.method, request.path.split("/"):
            case "GET", ["users", "loggedInUser"]:
                return 200, {}, self._shown(self.find("user", user))
            case "GET", ["events"]:
                since = int(request.query["timestamp"])
                kinds = {
                    *request.query.get("entityUpdated", "").split(","),
                    *request.query.get("entityDeleted", "").split(","),
                }
                found = [
                    e
                    for e in self.events
                    if e["timestamp"] >= since and (e["entityType"] in kinds or "*" in kinds)
                ]
                return 200, {}, {"data": found, "paging": {"total": len(found)}}
            case "GET", ["metadata", "types", "name", type_name]:
                return (
                    200,
                    {},
                    {"id": _type_id(type_name), "name": type_name, "customProperties": self.properties},
                )
            case "PUT", ["metadata", "types", _]:
                self._require("type/customProperty", request.body)
                self.properties = [e for e in self.properties if e["name"] != request.body["name"]] + [
                    request.body
                ]
                return 200, {}, {}
            case "PUT", ["lineage"]:
                return self._put_edge(request.body, user)
            case "GET", ["lineage", _, entity_id]:
                return self._lineage(entity_id, int(request.query.get("upstreamDepth", "1")))
            case "DELETE", ["lineage", _, source, _, target]:
                if self.edges.pop((source, target), None) is None:
                    raise Refused(404, "Lineage edge not found")
                return 200, {}, {}
            case "PUT", ["tables", entity_id, "tableProfile"]:
                return self._put_profile(entity_id, request.body)
            case "PUT", ["pipelines", fqn, "status"]:
                return self._put_status(unquote(fqn), request.body)
            case "POST", ["dataQuality", "testCases", "testCaseResults", fqn]:
                return self._post_result(unquote(fqn), request.body)
            case "PUT", ["dataQuality", "testCases", entity_id, "failedRowsSample"]:
                self._require("entity/data/table#tableData", request.body)
                self.samples[self._existing(entity_id)["fullyQualifiedName"]] = request.body
                return 200, {}, {}
            case "GET", ["dataQuality", "testCases", "testCaseIncidentStatus"]:
                since = int(request.query["startTs"])
                found = [each for each in self.incidents if each["timestamp"] >= since]
                return 200, {}, {"data": found, "paging": {"total": len(found)}}
        if not name:
            raise Refused(404, f"HTTP 404 Not Found: {request.path}")
        return self._collection(name, rest.split("/") if rest else [], request, user)

    def _collection(
        self, name: str, rest: list[str], request: Request, user: str
    ) -> tuple[int, dict[str, str], Any]:
        kind = COLLECTIONS[name].type
        deleted = {"all": (True, False), "deleted": (True,)}.get(request.query.get("include", ""), (False,))
        match request.method, rest:
            case "GET", []:
                return 200, {}, self._page(kind, request.query, deleted)
            case "GET", ["name", fqn]:
                entity_id = self.names.get((kind, unquote(fqn)))
                if entity_id is None or self.entities[entity_id]["deleted"] not in deleted:
                    raise Refused(404, f"{kind} instance for {unquote(fqn)} not found")
                return self._found(self.entities[entity_id])
            case "GET", [entity_id]:
                entity = self.entities.get(entity_id)
                if entity is None or entity["deleted"] not in deleted:
                    raise Refused(404, f"{kind} instance for {entity_id} not found")
                return self._found(entity)
            case "GET", [entity_id, "versions"]:
                return 200, {}, {"entityType": kind, "versions": self.history[entity_id]}
            case "PUT", ["restore"]:
                entity = self.entities[request.body["id"]]
                self._update(entity, {**entity, "deleted": False}, user, "entityRestored")
                return self._found(entity)
            case "PUT", []:
                return self._put(name, request.body, user)
            case "PATCH", [entity_id]:
                return self._patch(entity_id, request, user)
            case "DELETE", [entity_id] if request.query.get("hardDelete") == "true":
                above = self.entities[entity_id]["fullyQualifiedName"]
                for each in [*self.entities.values()]:
                    if f"{each['fullyQualifiedName']}.".startswith(f"{above}."):
                        del self.entities[each["id"]], self.names[each["_type"], each["fullyQualifiedName"]]
                self.edges = {
                    pair: edge for pair, edge in self.edges.items() if self.entities.keys() >= set(pair)
                }
                return 200, {}, {}
            case "DELETE", [entity_id]:
                entity = self._existing(entity_id)
                self._update(entity, {**entity, "deleted": True}, user, "entitySoftDeleted")
                return self._found(entity)
        raise Refused(405, "HTTP 405 Method Not Allowed")

    def _put(self, name: str, body: Any, user: str) -> tuple[int, dict[str, str], Any]:
        collection = COLLECTIONS[name]
        if collection.body is None:
            raise Refused(403, f"Principal {user} is not allowed to create {collection.type}")
        self._require(collection.body, body)
        fqn = self._fqn(collection, body)
        self._refer(body)
        entity_id = self.names.get((collection.type, fqn))
        if entity_id is None:
            return 201, {}, self._shown(self._stored(name, body, user))
        entity = self.entities[entity_id]
        changed = {**entity, **self._entity(name, body)}
        if self.find("user", user).get("isBot"):
            for kept in ("description", "displayName", "owners", "domains", "extension"):
                if entity.get(kept):
                    changed[kept] = entity[kept]
            there = {each["name"]: each for each in entity.get("columns") or ()}
            for column in changed.get("columns") or ():
                column["description"] = there.get(column["name"], {}).get("description") or column.get(
                    "description"
                )
        tags = {each["tagFQN"]: each for each in (*(entity.get("tags") or ()), *(body.get("tags") or ()))}
        changed["tags"] = list(tags.values())
        changed["deleted"] = False
        self._update(entity, changed, user)
        return self._found(entity)

    def _patch(self, entity_id: str, request: Request, user: str) -> tuple[int, dict[str, str], Any]:
        entity = self._existing(entity_id)
        wanted = request.headers.get("if-match")
        if wanted is not None and wanted != _etag(entity):
            raise Refused(412, "The entity was modified by another request")
        if request.headers.get("content-type") != "application/json-patch+json":
            raise Refused(415, "HTTP 415 Unsupported Media Type")
        changed = deepcopy(entity)
        for operation in request.body:
            _apply(changed, operation)
        if any(changed.get(each) != entity.get(each) for each in _IMMUTABLE):
            raise Refused(400, "name is a read-only attribute")
        self._refer(changed)
        self._update(entity, changed, user)
        return self._found(entity)

    def _require(self, body: str, document: object) -> None:
        if problem := contract.problem(self.version, body, document):
            raise Refused(400, f"[{body}] {problem}")

    def _refer(self, body: Mapping[str, Any]) -> None:
        """Refuse references to what is not there, as the repositories do."""
        for label in [*(body.get("tags") or ()), *_column_labels(body.get("columns") or ())]:
            kind = "tag" if label["source"] == "Classification" else "glossaryTerm"
            if (kind, label["tagFQN"]) not in self.names:
                raise Refused(404, f"{kind} instance for {label['tagFQN']} not found")
        for owner in body.get("owners") or ():
            self._existing(owner["id"])
        for kind, each in (("domain", "domains"), ("dataProduct", "dataProducts")):
            for name in body.get(each) or ():
                if (kind, name if isinstance(name, str) else name["fullyQualifiedName"]) not in self.names:
                    raise Refused(404, f"{kind} instance for {name} not found")
        extension = body.get("extension") or {}
        for name in extension:
            if name not in {each["name"] for each in self.properties}:
                raise Refused(400, f"Unknown custom field {name}")

    def _fqn(self, collection: Collection, body: Mapping[str, Any]) -> str:
        name = quoted(body["name"])
        if collection.type == "testCase":
            steps = body["entityLink"].removeprefix("<#E::").removesuffix(">").split("::")
            table = self.find("table", steps[1]) if ("table", steps[1]) in self.names else None
            if table is None or table["deleted"]:
                raise Refused(404, f"table instance for {steps[1]} not found")
            if len(steps) > 2 and steps[3] not in _column_names(table["columns"]):
                raise Refused(400, f"Invalid column name {steps[3]}")
            if ("testDefinition", body["testDefinition"]) not in self.names:
                raise Refused(404, f"testDefinition instance for {body['testDefinition']} not found")
            return ".".join([steps[1], *([quoted(steps[3])] if len(steps) > 2 else []), name])
        if collection.parent is None:
            return name
        above = body[collection.parent]
        kinds = _PARENTS[collection.parent]
        if collection.type in ("database", "pipeline"):
            kinds = ("databaseService",) if collection.type == "database" else ("pipelineService",)
        if not any((kind, above) in self.names for kind in kinds):
            raise Refused(404, f"{kinds[0]} instance for {above} not found")
        return f"{above}.{name}"

    def _entity(self, name: str, body: Mapping[str, Any]) -> Entity:
        """Return the entity that a body describes: references in place of names, FQNs of columns."""
        made = deepcopy(dict(body))
        fqn = self._fqn(COLLECTIONS[name], body)
        for kind, each in (("domain", "domains"), ("dataProduct", "dataProducts")):
            if each in made and kind not in (COLLECTIONS[name].type,):
                made[each] = [self.reference(kind, n) for n in made[each]]
        _name_columns(made.get("columns") or [], fqn)
        return {**made, "fullyQualifiedName": fqn, "_type": COLLECTIONS[name].type}

    def reference(self, kind: str, fqn: str) -> Entity:
        entity = self.find(kind, fqn)
        return {"id": entity["id"], "type": kind, "name": entity["name"], "fullyQualifiedName": fqn}

    def _stored(self, name: str, body: Mapping[str, Any], user: str) -> Entity:
        entity = {"id": str(uuid4()), "version": 0.1, "deleted": False, **self._entity(name, body)}
        self.entities[entity["id"]] = entity
        self.names[entity["_type"], entity["fullyQualifiedName"]] = entity["id"]
        self.history[entity["id"]] = []
        self._note(entity, user, "entityCreated")
        return entity

    def _update(self, entity: Entity, changed: Entity, user: str, event: str = "entityUpdated") -> None:
        before = self._shown(entity)
        _name_columns(changed.get("columns") or [], entity["fullyQualifiedName"])
        if {**changed, "version": 0} == {**entity, "version": 0}:
            return
        self.history[entity["id"]].append(deepcopy(before))
        fields = [name for name in {*changed, *entity} if changed.get(name) != entity.get(name)]
        entity.clear()
        entity.update(changed, version=round(changed["version"] + 0.1, 1))
        self._note(entity, user, event, fields)

    def _note(self, entity: Entity, user: str, event: str, fields: list[str] | None = None) -> None:
        self.clock = max(self.clock + 1, int(time.time() * 1000))
        entity["updatedBy"], entity["updatedAt"] = user, self.clock
        self.events.append(
            {
                "id": str(uuid4()), "eventType": event, "entityType": entity["_type"], "entityId": entity["id"],
                "entityFullyQualifiedName": entity["fullyQualifiedName"], "userName": user, "timestamp": self.clock,
                "changeDescription": {"fieldsUpdated": [{"name": each} for each in fields or ()]},
            }
        )  # fmt: skip

    def _put_edge(self, body: Any, user: str) -> tuple[int, dict[str, str], Any]:
        self._require("api/lineage/addLineage", body)
        edge = body["edge"]
        ends = [self._existing(edge[end]["id"]) for end in ("fromEntity", "toEntity")]
        details = dict(edge.get("lineageDetails") or {})
        if "pipeline" in details:
            self._existing(details["pipeline"]["id"])
        for columns in details.get("columnsLineage") or ():
            for column, end in [
                *((each, ends[0]) for each in columns["fromColumns"]),
                (columns["toColumn"], ends[1]),
            ]:
                if column not in _column_fqns(end.get("columns") or ()):
                    raise Refused(400, f"Invalid column name {column}")
        self.clock += 1
        details |= {"updatedBy": user, "createdBy": user, "updatedAt": self.clock}
        self.edges[ends[0]["id"], ends[1]["id"]] = {"source": "Manual", **details}
        return 200, {}, {}

    def _lineage(self, entity_id: str, depth: int) -> tuple[int, dict[str, str], Any]:
        entity = self._existing(entity_id)
        up = [(pair, edge) for pair, edge in self.edges.items() if depth and pair[1] == entity_id]
        return 200, {}, {
            "entity": {"id": entity_id, "type": entity["_type"]},
            "nodes": [{"id": source, "type": self.entities[source]["_type"]} for (source, _), _ in up],
            "upstreamEdges": [
                {"fromEntity": source, "toEntity": target, "lineageDetails": edge} for (source, target), edge in up
            ],
            "downstreamEdges": [],
        }  # fmt: skip

    def _put_profile(self, entity_id: str, body: Any) -> tuple[int, dict[str, str], Any]:
        self._require("api/data/createTableProfile", body)
        entity = self._existing(entity_id)
        for column in body.get("columnProfile") or ():
            if column["name"] not in _column_names(entity["columns"]):
                raise Refused(400, f"Invalid column name {column['name']}")
        self.profiles[entity["fullyQualifiedName"], body["tableProfile"]["timestamp"]] = body
        return 200, {}, self._shown(entity)

    def _put_status(self, fqn: str, body: Any) -> tuple[int, dict[str, str], Any]:
        self._require("entity/data/pipeline#pipelineStatus", body)
        if ("pipeline", fqn) not in self.names:
            raise Refused(404, f"pipeline instance for {fqn} not found")
        known = {each["name"] for each in self.find("pipeline", fqn).get("tasks") or ()}
        for task in body.get("taskStatus") or ():
            if task["name"] not in known:
                raise Refused(400, f"Invalid task name {task['name']}")
        self.statuses[fqn, body["timestamp"]] = body
        return 200, {}, {}

    def _post_result(self, fqn: str, body: Any) -> tuple[int, dict[str, str], Any]:
        self._require("api/tests/createTestCaseResult", body)
        if ("testCase", fqn) not in self.names:
            raise Refused(404, f"testCase instance for {fqn} not found")
        new = (fqn, body["timestamp"]) not in self.results
        self.results[fqn, body["timestamp"]] = body
        is_open = any(
            each["testCaseReference"]["fullyQualifiedName"] == fqn and each["_open"]
            for each in self.incidents
        )
        if new and body["testCaseStatus"] == "Failed" and not is_open:
            self._incident(fqn, "New", str(uuid4()))
        return 201, {}, body

    def _incident(self, fqn: str, status: str, state_id: str, **details: Any) -> None:
        for each in self.incidents:
            if each["stateId"] == state_id:
                each["_open"] = False
        self.clock += 1
        self.incidents.append(
            {
                "id": str(uuid4()), "stateId": state_id, "timestamp": self.clock,
                "testCaseResolutionStatusType": status, "testCaseReference": self.reference("testCase", fqn),
                "testCaseResolutionStatusDetails": details or None,
                "updatedBy": {"id": self.find("user", "ada")["id"], "type": "user", "name": "ada"},
                "_open": status != "Resolved",
            }
        )  # fmt: skip

    def resolve(self, fqn: str, reason: str, comment: str) -> None:
        """Resolve the open incident of a test case, as a steward."""
        opened = next(
            e for e in self.incidents if e["testCaseReference"]["fullyQualifiedName"] == fqn and e["_open"]
        )
        self._incident(
            fqn, "Resolved", opened["stateId"], testCaseFailureReason=reason, testCaseFailureComment=comment
        )

    def _page(self, kind: str, query: Mapping[str, str], deleted: tuple[bool, ...]) -> Any:
        limit, after = int(query.get("limit", "10")), query.get("after", "")
        if not 0 <= limit <= 1_000_000:
            raise Refused(400, "query param limit must be less than or equal to 1000000")
        above = query.get("service") or query.get("database") or query.get("databaseSchema") or ""
        found = sorted(
            (e for e in self.entities.values() if e["_type"] == kind and e["deleted"] in deleted
             and e["fullyQualifiedName"].startswith(f"{above}." if above else "")),
            key=lambda each: each["fullyQualifiedName"],
        )  # fmt: skip
        rest = [each for each in found if each["fullyQualifiedName"] > after]
        paging = {"total": len(found)}
        if len(rest) > limit:
            paging["after"] = rest[limit - 1]["fullyQualifiedName"]
        return {"data": [self._shown(each) for each in rest[:limit]], "paging": paging}

    def _existing(self, entity_id: str) -> Entity:
        entity = self.entities.get(entity_id)
        if entity is None or entity["deleted"]:
            raise Refused(404, f"instance for {entity_id} not found")
        return entity

    def _found(self, entity: Entity) -> tuple[int, dict[str, str], Any]:
        return 200, {"ETag": _etag(entity)}, self._shown(entity)

    def _shown(self, entity: Entity) -> Entity:
        return {name: deepcopy(value) for name, value in entity.items() if not name.startswith("_")}


def quoted(name: str) -> str:
    """Return a name as part of an FQN."""
    return f'"{name}"' if "." in name else name


def transport(server: Contract) -> httpx.MockTransport:
    """Return a transport of httpx that ends in this server, without a socket."""

    def handle(request: httpx.Request) -> httpx.Response:
        status, headers, body = server.answer(
            _request(server, request.method, str(request.url), request.headers, request.content)
        )
        return httpx.Response(status, headers=headers, json=body)

    return httpx.MockTransport(handle)


@contextmanager
def serving(server: Contract) -> Iterator[str]:
    """Serve on a port of this machine; yields the address of the API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, body = server.answer(_request(server, self.command, self.path, headers, content))
            text = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {
                **more,
                "Content-Type": "application/json",
                "Content-Length": str(len(text)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/api"
        finally:
            listening.shutdown()
            thread.join()


def _request(_: Contract, method: str, url: str, headers: Mapping[str, str], content: bytes) -> Request:
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    path = parts.path.removeprefix("/api/v1/").strip("/")
    return Request(method, path, query, headers, json.loads(content) if content else None)


def _type_id(name: str) -> str:
    return {
        "table": "00000000-0000-4000-8000-000000000001",
        "string": "00000000-0000-4000-8000-000000000002",
    }[name]


def _etag(entity: Entity) -> str:
    return f'"{entity["version"]}-{entity["updatedAt"]}"'


def _apply(entity: Entity, operation: Mapping[str, Any]) -> None:
    """Apply one operation of a JSON Patch."""
    steps = [each.replace("~1", "/").replace("~0", "~") for each in operation["path"].lstrip("/").split("/")]
    at: Any = entity
    for step in steps[:-1]:
        at = at[int(step)] if isinstance(at, list) else at[step]
    key: Any = int(steps[-1]) if isinstance(at, list) and steps[-1] != "-" else steps[-1]
    if operation["op"] == "remove":
        del at[key]
    elif isinstance(at, list):
        at.append(operation["value"])
    elif operation["op"] in ("add", "replace"):
        at[key] = operation["value"]
    else:
        raise Refused(400, f"operation {operation['op']}")


def _name_columns(columns: list[Entity], above: str) -> None:
    for column in columns:
        column["fullyQualifiedName"] = f"{above}.{quoted(column['name'])}"
        _name_columns(column.get("children") or [], column["fullyQualifiedName"])


def _columns(columns: Any) -> Iterator[Entity]:
    for column in columns:
        yield column
        yield from _columns(column.get("children") or ())


def _column_fqns(columns: Any) -> set[str]:
    return {each["fullyQualifiedName"] for each in _columns(columns)}


def _column_names(columns: Any) -> set[str]:
    return {each["name"] for each in columns}


def _column_labels(columns: Any) -> list[Entity]:
    return [label for each in _columns(columns) for label in each.get("tags") or ()]
