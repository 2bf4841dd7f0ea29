-- Of each lineage that drafts have: whether it is stored, whether the process said just this of the dataset last, and which
-- process that is.
SELECT item.ordinal, run.process_id, stored.lineage_hash IS NOT NULL AS stored, said.lineage_hash IS NOT NULL AS said
FROM jsonb_to_recordset(%(lineages)s) AS item (ordinal integer, dataset text, hash text, name_id uuid)
JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
LEFT JOIN catalog.process_run run ON run.run_id = %(run_id)s
LEFT JOIN catalog.dataset_lineage stored
    ON stored.dataset_id = dataset.dataset_id AND stored.lineage_hash = item.hash
LEFT JOIN catalog.column_lineage_said said
    ON said.target_name_id = item.name_id AND said.said_by = coalesce(run.process_id, item.name_id) AND said.via = 'plan'
   AND said.lineage_hash = item.hash
