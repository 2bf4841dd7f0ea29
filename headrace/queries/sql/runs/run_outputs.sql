SELECT version.produced_by_run_id AS run_id, version.dataset_version_id AS version_id, dataset.full_name AS dataset,
       version.partition_key, version.version_tag AS tag, version.outcome, version.reason, version.row_count,
       version.quarantine_rows, version.path AS location,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'name', result.name, 'status', result.status, 'failed_rows', result.failed_rows,
               'detail', result.detail_json) ORDER BY result.name)
           FROM catalog.quality_check_result result
           WHERE result.dataset_version_id = version.dataset_version_id), '[]') AS checks
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
WHERE version.produced_by_run_id = ANY (%(run_ids)s)
ORDER BY version.produced_at, dataset.full_name, version.partition_key
