-- Of each lineage that drafts have: whether it is stored, whether the process said just this of the dataset last, which
-- process that is, and whether others have said something of it as well.
SELECT item.ordinal, dataset.dataset_id, run.process_id, stored.lineage_hash IS NOT NULL AS stored,
       said.lineage_hash IS NOT NULL AS said,
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
LEFT JOIN catalog.column_lineage_report said
    ON said.target_name_id = item.name_id AND said.reporter_id = coalesce(run.process_id, item.name_id) AND said.via = 'plan'
   AND said.lineage_hash = item.hash
