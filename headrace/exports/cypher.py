"""Idempotent Cypher statements that maintain the graph in Neo4j."""

from __future__ import annotations

from headrace.catalog.outbox import Part

LABELS = {"DATASET": "Dataset", "PROCESS": "Process"}
ROLES = ("CONSUMES", "PRODUCES", "DERIVES")

CONSTRAINTS = (
    *(
        f"CREATE CONSTRAINT headrace_{label.lower()} IF NOT EXISTS FOR (node:{label}) REQUIRE node.id IS UNIQUE"
        for label in ("Dataset", "Process", "Column")
    ),
    "CREATE CONSTRAINT headrace_position IF NOT EXISTS "
    "FOR (mark:HeadracePosition) REQUIRE mark.organisation IS UNIQUE",
    *(
        f"CREATE INDEX headrace_{role.lower()} IF NOT EXISTS FOR ()-[edge:{role}]-() ON (edge.id)"
        for role in ROLES
    ),
    "CREATE INDEX headrace_column_target IF NOT EXISTS FOR ()-[edge:DERIVES]-() ON (edge.target_name)",
)

POSITION = """
MATCH (mark:HeadracePosition {organisation: $organisation})
RETURN mark.transaction_id AS transaction_id, mark.outbox_id AS outbox_id
"""

MARK = """
MERGE (mark:HeadracePosition {organisation: $organisation})
SET mark.transaction_id = $transaction_id, mark.outbox_id = $outbox_id, mark.at = datetime()
"""

WRITE_NODES = {
    label: f"""
UNWIND $rows AS row
MERGE (node:{label} {{id: row.id}})
SET node = row.properties
"""
    for label in LABELS.values()
}

# An edge whose end was removed since is skipped; its end is reported as well.
WRITE_EDGES = {
    (role, source, target): f"""
UNWIND $rows AS row
MATCH (source:{LABELS[source]} {{id: row.source}})
MATCH (target:{LABELS[target]} {{id: row.target}})
MERGE (source)-[edge:{role} {{id: row.id}}]->(target)
SET edge = row.properties
"""
    for role in ROLES
    for source in LABELS
    for target in LABELS
}

WRITE_COLUMN_EDGES = """
UNWIND $rows AS row
MATCH (source:Dataset {id: row.source})
MATCH (target:Dataset {id: row.target})
MERGE (from:Column {id: row.source + '/' + row.source_field})
SET from.name = row.source_field, from.organisation = row.organisation
MERGE (source)-[:HAS]->(from)
MERGE (to:Column {id: row.target + '/' + row.target_field})
SET to.name = row.target_field, to.organisation = row.organisation
MERGE (target)-[:HAS]->(to)
MERGE (from)-[edge:DERIVES {id: row.id}]->(to)
SET edge = row.properties
"""

# Reported ids that the catalog no longer has.
REMOVE_NODES = {
    Part.DATASET: """
UNWIND $ids AS id
MATCH (node:Dataset {id: id})
OPTIONAL MATCH (node)-[:HAS]->(column:Column)
DETACH DELETE column, node
""",
    Part.PROCESS: "UNWIND $ids AS id MATCH (node:Process {id: id}) DETACH DELETE node",
}

REMOVE_EDGES = tuple(f"UNWIND $ids AS id MATCH ()-[edge:{role} {{id: id}}]->() DELETE edge" for role in ROLES)

# The edges into the columns of datasets with these names.
REMOVE_COLUMN_EDGES = """
UNWIND $names AS name
MATCH (:Column)-[edge:DERIVES {target_name: name}]->(:Column)
DELETE edge
"""

REMOVE_BARE_COLUMNS = """
MATCH (column:Column {organisation: $organisation})
WHERE NOT EXISTS { (column)-[:DERIVES]-() }
WITH column LIMIT $limit
DETACH DELETE column
RETURN count(*) AS removed
"""

# After everything was written with a new stamp: objects with another stamp, edges first.
REMOVE_UNSTAMPED = (
    *(
        f"""
MATCH (:{near} {{organisation: $organisation}})-[edge:{role}]->()
WHERE coalesce(edge.stamp, '') <> $stamp
WITH edge LIMIT $limit
DELETE edge
RETURN count(*) AS removed
"""
        for near in ("Dataset", "Process", "Column")
        for role in ROLES
    ),
    REMOVE_BARE_COLUMNS,
    *(
        f"""
MATCH (node:{label} {{organisation: $organisation}})
WHERE coalesce(node.stamp, '') <> $stamp
WITH node LIMIT $limit
DETACH DELETE node
RETURN count(*) AS removed
"""
        for label in LABELS.values()
    ),
)
