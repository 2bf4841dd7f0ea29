-- The published versions of these places. A place is derived if only events write it: no publish can have the key of its
-- dataset, and no person has moved its pointer. Its moves from `since` on are the versions since then. Any other pointer
-- moves to the newest of these versions, unless it points to a newer one, when they arrive, so that a rebuild creates
-- the same moves; and to the newest of all if its own was withdrawn, or produced earlier than was known (`doubted`). It
-- is locked (reserve.sql).
WITH place AS MATERIALIZED (
    SELECT item.dataset_id, item.partition_key, full_name, item.dataset_id = ANY (%(doubted)s::uuid[]) AS doubted,
           since, position('#' IN full_name) > 0 AND NOT EXISTS (
               SELECT FROM catalog.pointer_move move WHERE move.dataset_id = item.dataset_id AND kind = 'ROLLBACK'
           ) AS derived
    FROM jsonb_to_recordset(%(places)s) AS item (dataset_id uuid, partition_key text, since timestamptz)
    CROSS JOIN LATERAL (
        SELECT full_name FROM catalog.dataset WHERE dataset.dataset_id = item.dataset_id OFFSET 0
    ) dataset -- this and what follows by the index, whatever statistics the planner has
), last AS MATERIALIZED (
    SELECT place.*, coalesce(pointer.generation, 0) AS generation, pointer.dataset_version_id, pointer.moved_at,
           current_version.produced_at, current_version.version_tag,
           doubted AND (pointer.dataset_version_id IS NULL
                        OR pointer.dataset_version_id = ANY (%(candidates)s::uuid[])) AS is_free
    FROM place
    LEFT JOIN LATERAL (
        SELECT generation, dataset_version_id, moved_at
        FROM catalog.published_pointer
        WHERE NOT derived AND dataset_id = place.dataset_id AND partition_key = place.partition_key
        UNION ALL
        SELECT * FROM (
            SELECT generation, dataset_version_id, moved_at
            FROM catalog.pointer_move
            WHERE derived AND dataset_id = place.dataset_id AND partition_key = place.partition_key
            ORDER BY generation DESC
            LIMIT 1
        ) move
    ) pointer ON true
    LEFT JOIN LATERAL (
        SELECT produced_at, version_tag
        FROM catalog.dataset_version stored
        WHERE stored.dataset_version_id = pointer.dataset_version_id
        OFFSET 0
    ) current_version ON true
), candidate AS MATERIALIZED (
    SELECT last.*, version.dataset_version_id AS version_id, version.produced_by_run_id AS run_id, version.version_tag AS tag,
           version.produced_at AS at, row_number() OVER of_place AS ordinal,
           lag(version.dataset_version_id) OVER of_place AS former_id,
           lead(version.dataset_version_id) OVER of_place IS NULL AS is_newest
    FROM last
    CROSS JOIN LATERAL (
        SELECT *
        FROM catalog.dataset_version written
        WHERE written.dataset_id = last.dataset_id
          AND written.partition_key = last.partition_key
          AND written.produced_at >= CASE WHEN is_free THEN '-infinity' ELSE last.since END
        OFFSET 0
    ) version
    WHERE version.outcome = 'PUBLISHED' AND (derived OR is_free OR version.dataset_version_id = ANY (%(candidates)s::uuid[]))
    WINDOW of_place AS (
        PARTITION BY last.dataset_id, last.partition_key
        ORDER BY version.produced_at, version.version_tag COLLATE "C"
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), move AS MATERIALIZED (
    SELECT dataset_id, partition_key, full_name, derived, version_id, run_id, tag,
           generation + CASE WHEN derived THEN ordinal ELSE 1 END AS generation,
           CASE WHEN derived THEN coalesce(former_id, dataset_version_id) ELSE dataset_version_id END AS previous_version_id,
           CASE
               WHEN derived THEN at
               WHEN generation = 0 THEN %(received_at)s
               ELSE greatest(%(received_at)s::timestamptz, moved_at)
           END AS moved_at
    FROM candidate
    WHERE derived
       OR is_newest AND (dataset_version_id IS NULL OR (at, tag COLLATE "C") > (produced_at, version_tag))
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, run_id, moved_at
    )
    SELECT dataset_id, partition_key, generation, %(organisation)s, version_id, previous_version_id, 'PUBLISH', run_id, moved_at
    FROM move
), outbox AS (
    INSERT INTO catalog.outbox (organisation_id, topic, payload_json)
    SELECT %(organisation)s, 'version.published', jsonb_build_object(
        'dataset', full_name, 'partition', nullif(partition_key, ''), 'tag', tag, 'version_id', version_id, 'run_id', run_id,
        'generation', generation)
    FROM move
    WHERE NOT derived AND version_id = ANY (%(in_outbox)s::uuid[])
    ORDER BY full_name, partition_key
)
INSERT INTO catalog.published_pointer AS known (
    dataset_id, partition_key, organisation_id, dataset_version_id, generation, moved_at
)
-- The last move; if the end of a derived history was deleted and nothing followed, that is an earlier one.
SELECT DISTINCT ON (dataset_id, partition_key)
       dataset_id, partition_key, %(organisation)s::uuid, version_id, generation, moved_at
FROM (
    SELECT dataset_id, partition_key, version_id, generation, moved_at FROM move
    UNION ALL
    SELECT dataset_id, partition_key, dataset_version_id, generation, moved_at FROM last WHERE derived AND generation > 0
) moved
ORDER BY dataset_id, partition_key, generation DESC
ON CONFLICT (dataset_id, partition_key) DO UPDATE SET
    dataset_version_id = excluded.dataset_version_id,
    generation = excluded.generation,
    moved_at = excluded.moved_at
WHERE known.generation <> excluded.generation
   OR known.dataset_version_id IS DISTINCT FROM excluded.dataset_version_id
   OR known.moved_at <> excluded.moved_at
