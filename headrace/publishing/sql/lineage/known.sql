-- For each lineage of the drafts: whether it is stored, whether it equals the process's last report on the dataset,
-- which process that is, and whether others have reported on the dataset as well.
SELECT item.ordinal, dataset.dataset_id, run.process_id, stored.lineage_hash IS NOT NULL AS stored,
       report.lineage_hash IS NOT NULL AS is_reported,
       EXISTS (
           SELECT FROM catalog.column_lineage_report other
           WHERE other.target_name_id = item.name_id AND other.via = 'plan' AND other.lineage_hash IS NOT NULL
             AND other.reporter_id <> coalesce(run.process_id, item.name_id)
       ) AS others
FROM jsonb_to_recordset(%(lineages)s) AS item (ordinal integer, dataset text, hash text, name_id uuid)
JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
LEFT JOIN catalog.process_run run ON run.run_id = %(run_id)s
LEFT JOIN catalog.dataset_lineage stored
    ON stored.dataset_id = dataset.dataset_id AND stored.lineage_hash = item.hash
LEFT JOIN catalog.column_lineage_report report
    ON report.target_name_id = item.name_id AND report.reporter_id = coalesce(run.process_id, item.name_id) AND report.via = 'plan'
   AND report.lineage_hash = item.hash
