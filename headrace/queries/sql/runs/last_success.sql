-- The newest successful run among those that wrote a published version of a dataset, and those of its producing
-- processes.
SELECT run.run_id
FROM (
    (SELECT run.run_id, run.start_ts
     FROM catalog.dataset_version version
     JOIN catalog.process_run run ON run.run_id = version.produced_by_run_id
     WHERE version.dataset_id = %(dataset_id)s AND version.outcome = 'PUBLISHED' AND run.status = 'SUCCESS'
     ORDER BY version.produced_at DESC
     LIMIT 1)
    UNION ALL
    (SELECT run.run_id, run.start_ts
     FROM catalog.lineage_edge edge
     JOIN catalog.process_run run ON run.process_id = edge.source_id
     WHERE edge.target_id = %(dataset_id)s
       AND edge.edge_role = 'PRODUCES'
       AND edge.valid_to IS NULL
       AND run.status = 'SUCCESS'
     ORDER BY run.start_ts DESC
     LIMIT 1)
) run
ORDER BY run.start_ts DESC
LIMIT 1
