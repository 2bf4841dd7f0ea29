INSERT INTO catalog.openlineage_run (organisation_id, run_id, reported_run_id, named_run_id, process_id, document, native, first_at, last_at)
SELECT %(organisation)s, run_id, reported_run_id, named_run_id, process_id, document, native, first_at, last_at
FROM jsonb_to_recordset(%(documents)s) AS item (
    run_id uuid, reported_run_id uuid, named_run_id uuid, process_id uuid, document jsonb, native boolean, first_at timestamptz, last_at timestamptz
)
ON CONFLICT (organisation_id, run_id) DO UPDATE SET
    reported_run_id = excluded.reported_run_id,
    named_run_id = excluded.named_run_id,
    process_id = excluded.process_id,
    document = excluded.document,
    first_at = excluded.first_at,
    last_at = excluded.last_at
