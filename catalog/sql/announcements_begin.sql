-- The completions that Dagster has yet to be told of, the earliest first; `begun` are those of which a process began to
-- tell and died, or of which it did not say that it had.
WITH chosen AS MATERIALIZED (
    SELECT organisation_id, subject_id, partition_key, state = 'TELLING' AS begun
    FROM catalog.announcement
    WHERE organisation_id = %(organisation)s AND state <> 'TOLD'
    ORDER BY at, event_key
    LIMIT %(limit)s
    FOR UPDATE
), marked AS (
    UPDATE catalog.announcement told SET state = 'TELLING', changed_at = now()
    FROM chosen
    WHERE told.organisation_id = chosen.organisation_id
      AND told.subject_id = chosen.subject_id
      AND told.partition_key = chosen.partition_key
    RETURNING told.*, chosen.begun
)
SELECT marked.subject_type, marked.subject_id, marked.partition_key, marked.event_key, marked.version_id, marked.begun, marked.at,
       subject.technology, subject.instance, coalesce(subject.external_name, subject.process_key) AS external_name,
       subject.standing, dataset.full_name, version.version_tag, version.path, version.row_count, version.byte_size,
       version.checksum, version.metadata_json, process.process_key, event.run_id, event.run, event.attempt, event.status,
       coalesce(attempt.start_ts, event.started_at) AS started_at, event.exit_code, event.machine, event.log_location,
       event.partition_key AS business_date
FROM marked
JOIN catalog.reported_event event USING (organisation_id, event_key)
LEFT JOIN catalog.run_attempt attempt ON attempt.run_id = event.run_id AND attempt.attempt = event.attempt
LEFT JOIN catalog.process ON process.process_id = event.process_id
LEFT JOIN catalog.process subject ON subject.process_id = marked.subject_id
LEFT JOIN catalog.dataset ON dataset.dataset_id = marked.subject_id
LEFT JOIN catalog.dataset_version version ON version.dataset_version_id = marked.version_id
ORDER BY marked.at, marked.event_key
