-- The outbox for Dagster, earliest first. A completion is late if Dagster already has a run of the same process that
-- started after this one had ended, or the version that is published instead.
WITH waiting AS MATERIALIZED (
    SELECT *
    FROM catalog.pending_materialization
    WHERE organisation_id = %(organisation)s
    ORDER BY at, event_key
    LIMIT %(limit)s
)
SELECT waiting.completion_id, waiting.version_id, waiting.event_key, waiting.at,
       CASE waiting.subject_type WHEN 'PROCESS' THEN EXISTS (
           SELECT
           FROM catalog.process_run newer
           JOIN catalog.run_attempt ended ON ended.run_id = newer.run_id AND ended.attempt = newer.attempt
           WHERE newer.process_id = waiting.subject_id
             AND newer.start_ts > waiting.at
             AND newer.status = 'SUCCESS'
             AND ended.ending = 'GENUINE'
             AND NOT newer.historical
             AND NOT EXISTS (
                 SELECT FROM catalog.pending_materialization other
                 WHERE other.organisation_id = waiting.organisation_id AND other.completion_id = newer.run_id
             )
       ) ELSE EXISTS (
           SELECT
           FROM catalog.published_pointer pointer
           JOIN catalog.dataset_version newer ON newer.dataset_version_id = pointer.dataset_version_id
           WHERE pointer.dataset_id = waiting.subject_id
             AND pointer.partition_key = waiting.partition_key
             AND newer.produced_at > version.produced_at
             AND NOT EXISTS (
                 SELECT FROM catalog.pending_materialization other
                 WHERE other.organisation_id = waiting.organisation_id
                   AND other.completion_id = newer.dataset_version_id
             )
       ) END AS late,
       subject.technology, subject.instance, coalesce(subject.external_name, subject.process_key) AS external_name,
       subject.lifecycle, dataset.full_name, version.partition_key, version.version_tag, version.path, version.row_count,
       version.byte_size, version.checksum, version.metadata_json, process.process_key, event.run_id, event.run,
       coalesce(attempt.attempt, event.attempt) AS attempt, event.status,
       coalesce(attempt.start_ts, event.started_at) AS started_at, event.exit_code,
       event.machine, event.log_location, event.partition_key AS business_date
FROM waiting
JOIN catalog.completion event USING (organisation_id, event_key)
LEFT JOIN LATERAL (
    SELECT *
    FROM catalog.run_attempt
    WHERE run_id = event.run_id AND (end_ts = event.at OR run_attempt.attempt = event.attempt)
    ORDER BY end_ts = event.at DESC NULLS LAST, run_attempt.attempt DESC
    LIMIT 1
) attempt ON true
LEFT JOIN catalog.process ON process.process_id = event.process_id
LEFT JOIN catalog.process subject ON subject.process_id = waiting.subject_id
LEFT JOIN catalog.dataset ON dataset.dataset_id = waiting.subject_id
LEFT JOIN catalog.dataset_version version ON version.dataset_version_id = waiting.version_id
ORDER BY waiting.at, waiting.event_key
