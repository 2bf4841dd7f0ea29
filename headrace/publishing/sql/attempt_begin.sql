WITH run AS (
    INSERT INTO catalog.process_run (
        run_id, start_ts, organisation_id, process_id, status, attempt, root_dagster_run_id, partitions, log_location
    ) VALUES (
        %(run_id)s, %(run_start_ts)s, %(organisation)s, %(process_id)s, 'RUNNING', %(attempt)s,
        %(root_dagster_run_id)s, %(partitions)s, %(log_location)s
    )
    ON CONFLICT (run_id, start_ts) DO UPDATE SET
        status = 'RUNNING', end_ts = NULL, attempt = excluded.attempt, log_location = excluded.log_location
)
INSERT INTO catalog.run_attempt (
    run_id, attempt, organisation_id, run_start_ts, dagster_run_id, state, start_ts, log_location, host, os_pid, lock_key
) VALUES (
    %(run_id)s, %(attempt)s, %(organisation)s, %(run_start_ts)s, %(dagster_run_id)s, 'RUNNING', %(start_ts)s,
    %(log_location)s, %(host)s, %(os_pid)s, %(lock_key)s
)
