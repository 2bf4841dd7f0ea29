-- Which of these processes come before which: one reads what the other writes, gets it handed, or waits for it.
WITH wanted AS MATERIALIZED (
    SELECT process_id, process_key, technology, instance, external_name
    FROM catalog.process
    WHERE organisation_id = %(organisation)s AND process_key = ANY (%(keys)s)
), pair AS (
    SELECT produced.source_id, consumed.target_id
    FROM wanted
    JOIN catalog.lineage_edge AS produced
        ON produced.source_id = wanted.process_id AND produced.edge_role = 'PRODUCES' AND produced.valid_to IS NULL
    JOIN catalog.lineage_edge AS consumed
        ON consumed.source_id = produced.target_id AND consumed.edge_role = 'CONSUMES' AND consumed.valid_to IS NULL
    UNION
    SELECT edge.source_id, edge.target_id
    FROM wanted
    JOIN catalog.lineage_edge AS edge
        ON edge.source_id = wanted.process_id AND edge.edge_role = 'DERIVES' AND edge.target_type = 'PROCESS'
        AND edge.valid_to IS NULL
    UNION
    SELECT wanted.process_id, waiting.process_id
    FROM wanted
    JOIN catalog.process_dependency AS waiting
        ON waiting.organisation_id = %(organisation)s
        AND waiting.upstream_technology = wanted.technology
        AND waiting.upstream_instance = wanted.instance
        AND waiting.upstream_name = wanted.external_name
    WHERE waiting.orders AND waiting.valid_to IS NULL
)
SELECT source.process_key AS source, target.process_key AS target
FROM pair
JOIN wanted AS source ON source.process_id = pair.source_id
JOIN wanted AS target ON target.process_id = pair.target_id
WHERE pair.source_id <> pair.target_id
ORDER BY source, target
