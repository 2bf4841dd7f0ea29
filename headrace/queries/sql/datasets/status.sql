-- Set by set, not dataset by dataset: a catalog has hundreds of thousands of published partitions.
WITH chosen AS MATERIALIZED (
    SELECT dataset_id
    FROM catalog.dataset
    WHERE organisation_id = %(organisation)s AND CASE WHEN %(keys)s::text[] IS NULL THEN (status = 'RETIRED') = %(retired)s ELSE full_name = ANY (%(keys)s) END
), published AS MATERIALIZED (
    SELECT pointer.dataset_id, count(*) AS partition_count, max(pointer.moved_at) AS moved_at
    FROM chosen
    JOIN catalog.published_pointer pointer USING (dataset_id)
    WHERE pointer.dataset_version_id IS NOT NULL
    GROUP BY pointer.dataset_id
), newest AS (
    SELECT DISTINCT ON (pointer.dataset_id) pointer.dataset_id, version.version_tag, version.produced_at
    FROM published
    JOIN catalog.published_pointer pointer USING (dataset_id, moved_at)
    JOIN catalog.dataset_version version USING (dataset_version_id)
    ORDER BY pointer.dataset_id, pointer.partition_key DESC
), warned AS (
    SELECT pointer.dataset_id, array_agg(DISTINCT result.name ORDER BY result.name) AS names
    FROM chosen
    JOIN catalog.published_pointer pointer USING (dataset_id)
    JOIN catalog.quality_check_result result USING (dataset_version_id)
    WHERE result.status <> 'PASS'
    GROUP BY pointer.dataset_id
)
SELECT dataset.full_name AS key, dataset.partitions, coalesce(published.partition_count, 0) AS partition_count,
       newest.produced_at AS newest_published_at, newest.version_tag AS newest_tag, latest.version_tag AS latest_tag,
       latest.outcome AS latest_outcome, latest.reason AS latest_reason, latest.produced_at AS latest_at,
       coalesce(warned.names, '{}') AS warning, coalesce(failed.names, '{}') AS failing,
       run.run_id AS last_run_id, run.status AS last_run_state, run.start_ts AS last_run_at, nullif(sla.definition, '{}') AS sla
FROM chosen
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.sla USING (dataset_id)
LEFT JOIN published USING (dataset_id)
LEFT JOIN newest USING (dataset_id)
LEFT JOIN warned USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT version_tag, outcome, reason, produced_at
    FROM catalog.dataset_version version
    WHERE version.dataset_id = dataset.dataset_id
    ORDER BY produced_at DESC, dataset_version_id
    LIMIT 1
) latest ON true
LEFT JOIN LATERAL (
    SELECT array_agg(DISTINCT result.name ORDER BY result.name) AS names
    FROM catalog.dataset_version version
    JOIN catalog.quality_check_result result USING (dataset_version_id)
    WHERE version.dataset_id = dataset.dataset_id
      AND version.version_tag = latest.version_tag
      AND version.outcome = 'BLOCKED'
      AND result.status = 'FAIL'
) failed ON true
LEFT JOIN LATERAL (
    SELECT newest_run.run_id, newest_run.status, newest_run.start_ts
    FROM catalog.lineage_edge edge
    CROSS JOIN LATERAL (
        SELECT run_id, status, start_ts
        FROM catalog.process_run run
        WHERE run.process_id = edge.source_id
        ORDER BY start_ts DESC
        LIMIT 1
    ) newest_run
    WHERE edge.target_id = dataset.dataset_id AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
    ORDER BY newest_run.start_ts DESC
    LIMIT 1
) run ON true
ORDER BY dataset.full_name
