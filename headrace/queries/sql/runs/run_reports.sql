SELECT run.run_id, process.process_key, process.technology, process.code_version, run.status AS state, run.start_ts,
       run.end_ts, run.partitions, run.root_dagster_run_id, run.parent_run_id, run.historical,
       run.facets_json ->> 'external_run' AS external_run
FROM catalog.process_run run
JOIN catalog.process USING (process_id)
WHERE run.run_id = ANY (%(run_ids)s)
ORDER BY run.start_ts, run.run_id
