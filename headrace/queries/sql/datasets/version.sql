SELECT version.dataset_version_id, version.reason, version.quarantine_path, version.quarantine_rows, version.statistics,
       version.idempotency_key, process.process_key, process.source AS process_source,
       EXISTS (SELECT FROM catalog.published_pointer pointer
               WHERE pointer.dataset_version_id = version.dataset_version_id) AS published,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'name', name, 'status', status, 'failed_rows', failed_rows, 'detail', detail_json) ORDER BY name)
           FROM catalog.quality_check_result result
           WHERE result.dataset_version_id = version.dataset_version_id), '[]') AS checks,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'version_id', input.dataset_version_id, 'dataset', dataset.full_name,
               'partition', nullif(input.partition_key, ''), 'tag', input.version_tag)
               ORDER BY dataset.full_name, input.partition_key)
           FROM catalog.version_input used
           JOIN catalog.dataset_version input ON input.dataset_version_id = used.input_version_id
           JOIN catalog.dataset ON dataset.dataset_id = input.dataset_id
           WHERE used.dataset_version_id = version.dataset_version_id), '[]') AS inputs,
       (SELECT count(*) FROM catalog.version_input used
        WHERE used.input_version_id = version.dataset_version_id) AS used_by
FROM catalog.dataset_version version
LEFT JOIN catalog.run_process run ON run.run_id = version.produced_by_run_id
LEFT JOIN catalog.process USING (process_id)
WHERE version.dataset_version_id = %(version_id)s
