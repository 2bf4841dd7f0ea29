-- What an alert affects: the datasets downstream of its subject, breadth first, each visited once at its least depth, and
-- the other subjects of its incident, with the next deadline of each that is not met. Those with one come first. `nodes`
-- limits the visited datasets and processes.
WITH RECURSIVE walk AS (
    SELECT ARRAY[%(subject_id)s::uuid] AS frontier, ARRAY[%(subject_id)s::uuid] AS seen, 0 AS depth
    UNION ALL
    SELECT next.ids, walk.seen || next.ids, walk.depth + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids
        FROM (
            (
                -- At `infinity` only what has not ended is valid.
                SELECT far AS id FROM catalog.process_steps(walk.frontier, false, 'infinity')
                UNION
                SELECT target_id
                FROM catalog.lineage_edge
                WHERE source_id = ANY (walk.frontier) AND edge_role = 'DERIVES' AND valid_to IS NULL
            )
            EXCEPT
            SELECT unnest(walk.seen)
            LIMIT greatest(%(nodes)s - cardinality(walk.seen), 0)
        ) fresh
    ) next
    WHERE next.ids IS NOT NULL
), reached AS MATERIALIZED (
    SELECT unnest(frontier) AS id, depth FROM walk
), named AS (
    SELECT dataset.dataset_id AS id, full_name AS key, owners, 0 AS depth, 'DATASET' AS subject_type
    FROM catalog.dataset
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s)
    UNION ALL
    SELECT process_id, process_key, owners, 0, 'PROCESS'
    FROM catalog.process
    WHERE organisation_id = %(organisation)s AND process_key = ANY (%(keys)s)
      AND NOT EXISTS (
          SELECT FROM catalog.dataset
          WHERE dataset.organisation_id = process.organisation_id AND dataset.full_name = process.process_key
      )
    UNION ALL
    SELECT dataset.dataset_id, full_name, owners, reached.depth, 'DATASET'
    FROM reached
    JOIN catalog.dataset ON dataset.dataset_id = reached.id
    WHERE reached.depth > 0
), affected AS (
    SELECT DISTINCT ON (id) * FROM named ORDER BY id, depth
)
SELECT affected.subject_type, affected.key, affected.owners, due.deadline, due.timezone, due.state, count(*) OVER () AS total
FROM affected
LEFT JOIN LATERAL (
    SELECT deadline, definition ->> 'timezone' AS timezone, state
    FROM catalog.sla_objective objective
    WHERE (objective.dataset_id = affected.id OR objective.process_id = affected.id)
      AND kind IN ('DELIVERY', 'AGE') AND met_at IS NULL AND deadline IS NOT NULL AND state <> 'PAUSED'
    ORDER BY deadline
    LIMIT 1
) due ON true
ORDER BY due.deadline, affected.depth, affected.key
LIMIT %(limit)s
