-- The first successful run of each process at the same time a week ago, or a day ago for one that is younger than a week,
-- moved to these days. Only of processes whose schedule no scan has.
WITH usual AS MATERIALIZED (
    SELECT DISTINCT ON (run.process_id) run.process_id, run.parent_process_id, day.shift,
           run.start_ts + day.shift AS starts_at, run.end_ts - run.start_ts AS took
    FROM (VALUES (interval '7 days'), (interval '1 day')) AS day (shift)
    JOIN catalog.process_run AS run
        ON run.start_ts >= %(since)s - day.shift AND run.start_ts < %(until)s - day.shift
    WHERE run.organisation_id = %(organisation)s AND run.status = 'SUCCESS'
    ORDER BY run.process_id, day.shift DESC, run.start_ts
)
SELECT process.process_key, process.technology, box.process_key AS box, usual.starts_at, usual.took
FROM usual
JOIN catalog.process USING (process_id)
LEFT JOIN catalog.process AS box ON box.process_id = usual.parent_process_id
WHERE process.lifecycle <> 'RETIRED'
  AND NOT (process.lifecycle = 'ACTIVE' AND (process.technology = 'AUTOSYS' OR process.metadata_json ? 'starts'))
  AND (usual.shift = interval '7 days' OR NOT EXISTS (
      SELECT FROM catalog.process_run AS older
      WHERE older.process_id = usual.process_id AND older.start_ts < %(since)s - interval '6 days'))
ORDER BY process.process_key
LIMIT %(limit)s
