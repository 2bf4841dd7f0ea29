-- Complete runs: the row, its process, and as JSON its attempts, its inputs, and the content of OpenLineage events.
SELECT run.*, process.process_key, process.technology, process.instance, process.external_name, (
    SELECT jsonb_agg(to_jsonb(tried) ORDER BY tried.attempt)
    FROM catalog.run_attempt tried
    WHERE tried.run_id = run.run_id
) AS attempts, (
    SELECT jsonb_agg(to_jsonb(input) ORDER BY input.attempt, input.dataset_version_id)
    FROM catalog.run_input input
    WHERE input.run_id = run.run_id
) AS inputs, (
    SELECT jsonb_build_object(
        'run', to_jsonb(reported),
        'datasets', (
            SELECT jsonb_agg(to_jsonb(used) ORDER BY used.role, used.name_id)
            FROM catalog.run_dataset used
            WHERE used.organisation_id = reported.organisation_id AND used.run_id = reported.run_id
        ),
        'assertions', (
            SELECT jsonb_agg(to_jsonb(tested) ORDER BY tested.name_id, tested.assertion_key)
            FROM catalog.dataset_assertion tested
            WHERE tested.organisation_id = reported.organisation_id AND tested.run_id = reported.run_id
        ),
        'metrics', (
            SELECT jsonb_agg(to_jsonb(measured) ORDER BY measured.name_id)
            FROM catalog.dataset_metrics measured
            WHERE measured.organisation_id = reported.organisation_id AND measured.run_id = reported.run_id
        )
    )
    FROM catalog.openlineage_run reported
    WHERE reported.organisation_id = run.organisation_id AND reported.run_id = run.run_id
) AS openlineage
FROM pg_temp.chosen_run
JOIN catalog.process_run run USING (run_id, start_ts)
JOIN catalog.process ON process.process_id = run.process_id
ORDER BY run.start_ts, run.run_id
