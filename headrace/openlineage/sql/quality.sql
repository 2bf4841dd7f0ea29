WITH measured AS (
    INSERT INTO catalog.dataset_metrics AS known (
        organisation_id, run_id, name_id, row_count, byte_size, file_count, last_updated, columns, at, digest
    )
    SELECT %(organisation)s, run_id, name_id, row_count, byte_size, file_count, last_updated, columns, at, digest
    FROM jsonb_to_recordset(%(metrics)s) AS item (
        run_id uuid, name_id uuid, row_count numeric, byte_size numeric, file_count numeric, last_updated timestamptz,
        columns jsonb, at timestamptz, digest text
    )
    ON CONFLICT (organisation_id, run_id, name_id) DO UPDATE SET
        row_count = excluded.row_count,
        byte_size = excluded.byte_size,
        file_count = excluded.file_count,
        last_updated = excluded.last_updated,
        columns = excluded.columns,
        at = excluded.at,
        digest = excluded.digest
    WHERE (excluded.at, excluded.digest) > (known.at, known.digest)
)
INSERT INTO catalog.dataset_assertion AS known (
    organisation_id, run_id, name_id, assertion_key, assertion, column_name, success, severity, detail, at
)
SELECT %(organisation)s, run_id, name_id, assertion_key, assertion, column_name, success, severity, detail, at
FROM jsonb_to_recordset(%(assertions)s) AS item (
    run_id uuid, name_id uuid, assertion_key text, assertion text, column_name text, success boolean, severity text,
    detail jsonb, at timestamptz
)
ON CONFLICT (organisation_id, run_id, name_id, assertion_key) DO UPDATE SET
    success = excluded.success,
    severity = excluded.severity,
    detail = excluded.detail,
    at = excluded.at
WHERE excluded.at > known.at OR (excluded.at = known.at AND known.success AND NOT excluded.success)
