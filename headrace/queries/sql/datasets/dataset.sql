SELECT dataset.dataset_id, dataset.full_name AS key, dataset.description, dataset.default_format AS format, dataset.owners,
       dataset.tags, dataset.columns, dataset.partitions, dataset.status, dataset.metadata_json AS metadata,
       dataset.declared_at, dataset.created_at, dataset.updated_at, lineage.known_count AS known_columns,
       lineage.column_count AS lineage_columns, total.row_count, total.byte_size, nullif(sla.definition, '{}') AS sla,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'name', name, 'kind', kind, 'column', column_name, 'parameters', parameters, 'severity', severity,
               'quarantine', quarantine, 'description', description) ORDER BY name)
           FROM catalog.quality_check_def def
           WHERE def.dataset_id = dataset.dataset_id AND def.retired_at IS NULL), '[]') AS checks,
       ARRAY (
           SELECT process_key
           FROM catalog.lineage_edge edge
           JOIN catalog.process ON process.process_id = edge.source_id
           WHERE edge.target_id = dataset.dataset_id AND edge_role = 'PRODUCES' AND valid_to IS NULL
           ORDER BY process_key) AS producers,
       ARRAY (
           SELECT DISTINCT source.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset source ON source.dataset_id = edge.source_id
           WHERE edge.target_id = dataset.dataset_id AND edge_role = 'DERIVES' AND valid_to IS NULL
           ORDER BY source.full_name) AS upstream,
       ARRAY (
           SELECT DISTINCT target.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset target ON target.dataset_id = edge.target_id
           WHERE edge.source_id = dataset.dataset_id AND edge_role = 'DERIVES' AND valid_to IS NULL
           ORDER BY target.full_name) AS downstream,
       (SELECT jsonb_build_object('by', retired_by, 'reason', reason, 'at', retired_at)
        FROM catalog.dataset_retirement retirement
        WHERE retirement.dataset_id = dataset.dataset_id AND retirement.status = dataset.status
          AND restored_at IS NULL) AS retirement,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'partition', nullif(pin.partition_key, ''), 'consumer', consumer.full_name, 'tag', version.version_tag,
               'by', pin.pinned_by, 'reason', pin.reason, 'at', pin.pinned_at)
               ORDER BY pin.partition_key, consumer.full_name)
           FROM catalog.dataset_pin pin
           JOIN catalog.dataset_version version USING (dataset_version_id)
           LEFT JOIN catalog.dataset consumer ON consumer.dataset_id = pin.consumer_id
           WHERE pin.dataset_id = dataset.dataset_id AND pin.unpinned_at IS NULL), '[]') AS pins
FROM catalog.dataset
CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) = count(version.row_count) THEN coalesce(sum(version.row_count), 0)::bigint END AS row_count,
           CASE WHEN count(*) = count(version.byte_size) THEN coalesce(sum(version.byte_size), 0)::bigint END AS byte_size
    FROM catalog.published_pointer pointer
    JOIN catalog.dataset_version version USING (dataset_version_id)
    WHERE pointer.dataset_id = dataset.dataset_id
) total
LEFT JOIN catalog.sla USING (dataset_id)
LEFT JOIN LATERAL (
    -- The last reported column lineage.
    SELECT stored.known_count, stored.column_count
    FROM catalog.dataset_name named
    JOIN catalog.column_lineage_report report ON report.target_name_id = named.name_id AND report.via = 'plan'
    JOIN catalog.dataset_lineage stored
        ON stored.dataset_id = named.dataset_id AND stored.lineage_hash = report.lineage_hash
    WHERE named.dataset_id = dataset.dataset_id
    ORDER BY report.last_at DESC
    LIMIT 1
) lineage ON true
WHERE dataset.dataset_id = %(dataset_id)s
