-- For each process that has reported column lineage of a dataset, or has a published version of it: the lineage of its
-- newest published version, if it differs from the last report. No hash: no version of it is published any more, or
-- only one without known lineage.
WITH head AS (
    SELECT DISTINCT ON (coalesce(run.process_id, %(name_id)s))
           coalesce(run.process_id, %(name_id)s) AS reporter_id, run.process_id, run.run_id, version.lineage_hash
    FROM catalog.published_pointer pointer
    JOIN catalog.dataset_version version ON version.dataset_version_id = pointer.dataset_version_id
    LEFT JOIN catalog.process_run run ON run.run_id = version.produced_by_run_id
    WHERE pointer.dataset_id = %(dataset_id)s
    ORDER BY coalesce(run.process_id, %(name_id)s), version.produced_at DESC, version.dataset_version_id
), report AS (
    SELECT reporter_id, process_id, lineage_hash
    FROM catalog.column_lineage_report
    WHERE target_name_id = %(name_id)s AND via = 'plan'
)
SELECT reporter_id, coalesce(head.process_id, report.process_id) AS process_id, head.run_id, head.lineage_hash AS hash, stored.content
FROM head
FULL JOIN report USING (reporter_id)
LEFT JOIN catalog.dataset_lineage stored
    ON stored.dataset_id = %(dataset_id)s AND stored.lineage_hash = head.lineage_hash
WHERE head.lineage_hash IS DISTINCT FROM report.lineage_hash
ORDER BY reporter_id
