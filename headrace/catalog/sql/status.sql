SELECT dataset.full_name AS key, dataset.partitions, published.partition_count, published.row_count, published.byte_size,
       published.newest_published_at, published.newest_tag, latest.version_tag AS latest_tag,
       latest.outcome AS latest_outcome, latest.reason AS latest_reason, latest.produced_at AS latest_at,
       coalesce(warned.names, '{}') AS warning, coalesce(failed.names, '{}') AS failing,
       run.run_id AS last_run_id, run.status AS last_run_state, run.start_ts AS last_run_at, nullif(sla.definition, '{}') AS sla
FROM catalog.dataset
LEFT JOIN catalog.sla USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT count(*) AS partition_count,
           CASE WHEN count(*) = count(version.row_count) THEN coalesce(sum(version.row_count), 0)::bigint END AS row_count,
           CASE WHEN count(*) = count(version.byte_size) THEN coalesce(sum(version.byte_size), 0)::bigint END AS byte_size,
           max(version.produced_at) AS newest_published_at,
           (array_agg(version.version_tag ORDER BY pointer.moved_at DESC, pointer.partition_key DESC))[1] AS newest_tag
    FROM catalog.published_pointer pointer
    JOIN catalog.dataset_version version USING (dataset_version_id)
    WHERE pointer.dataset_id = dataset.dataset_id
) published ON true
LEFT JOIN LATERAL (
    SELECT version_tag, outcome, reason, produced_at
    FROM catalog.dataset_version version
    WHERE version.dataset_id = dataset.dataset_id
    ORDER BY produced_at DESC, dataset_version_id
    LIMIT 1
) latest ON true
LEFT JOIN LATERAL (
    SELECT array_agg(DISTINCT result.name ORDER BY result.name) AS names
    FROM catalog.published_pointer pointer
    JOIN catalog.quality_check_result result USING (dataset_version_id)
    WHERE pointer.dataset_id = dataset.dataset_id AND result.status <> 'PASS'
) warned ON true
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
    SELECT run.run_id, run.status, run.start_ts
    FROM catalog.lineage_edge edge
    JOIN catalog.process_run run ON run.process_id = edge.source_id
    WHERE edge.target_id = dataset.dataset_id AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
    ORDER BY run.start_ts DESC
    LIMIT 1
) run ON true
WHERE dataset.organisation_id = %(organisation)s
  AND (%(keys)s::text[] IS NULL OR dataset.full_name = ANY (%(keys)s))
ORDER BY dataset.full_name
