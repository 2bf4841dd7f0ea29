-- Like lineage.sql, over datasets and the processes between them; each edge is a step.
WITH RECURSIVE walk AS (
    SELECT ARRAY[%(start)s::uuid] AS frontier, ARRAY[%(start)s::uuid] AS seen, 0 AS depth
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            SELECT far AS id FROM catalog.process_steps(walk.frontier, %(up)s, %(at)s)
            EXCEPT
            SELECT unnest(walk.seen)
            ORDER BY id
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE walk.depth < %(depth)s AND next.ids IS NOT NULL
)
SELECT node.id, node.depth, coalesce(dataset.full_name, process.process_key) AS key,
       CASE WHEN dataset.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END AS kind,
       coalesce(dataset.owners, process.owners) AS owners, process.technology, box.process_key AS box,
       coalesce(dataset.tags ->> 'migration', process.metadata_json ->> 'migration',
                CASE WHEN process.external_name IS NOT NULL THEN 'legacy' END) AS migration
FROM (SELECT unnest(frontier) AS id, depth FROM walk) node
LEFT JOIN catalog.dataset ON dataset.dataset_id = node.id
LEFT JOIN catalog.process ON process.process_id = node.id
LEFT JOIN catalog.process box
    ON box.organisation_id = process.organisation_id
    AND box.technology = process.technology
    AND box.instance = process.instance
    AND box.external_name = process.metadata_json ->> 'box'
WHERE dataset.dataset_id IS NOT NULL OR process.process_id IS NOT NULL
ORDER BY node.depth, kind, key
