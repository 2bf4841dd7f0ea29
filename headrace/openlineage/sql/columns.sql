WITH stated AS (
    INSERT INTO catalog.column_lineage_report AS known (
        target_name_id, reporter_id, via, organisation_id, process_id, last_at
    )
    SELECT target_name_id, reporter_id, via, %(organisation)s, process_id, last_at
    FROM jsonb_to_recordset(%(newest)s) AS item (
        target_name_id uuid, reporter_id uuid, via text, process_id uuid, last_at timestamptz
    )
    ON CONFLICT (target_name_id, reporter_id, via) DO UPDATE SET last_at = excluded.last_at
    WHERE known.last_at < excluded.last_at
)
INSERT INTO catalog.column_lineage AS known (
    column_lineage_id, organisation_id, reporter_id, process_id, target_name_id, target_field, source_name_id, source_field, via,
    transformation_type, transformation_subtype, transformation_description, masking, run_id, first_at, last_at
)
SELECT column_lineage_id, %(organisation)s, reporter_id, process_id, target_name_id, target_field, source_name_id, source_field,
       via, transformation_type, transformation_subtype, transformation_description, masking, run_id, first_at, last_at
FROM jsonb_to_recordset(%(rows)s) AS item (
    column_lineage_id uuid, reporter_id uuid, process_id uuid, target_name_id uuid, target_field text, source_name_id uuid,
    source_field text, via text, transformation_type text, transformation_subtype text, transformation_description text,
    masking boolean, run_id uuid, first_at timestamptz, last_at timestamptz
)
ON CONFLICT (column_lineage_id) DO UPDATE SET
    run_id = CASE
        WHEN (excluded.first_at, coalesce(excluded.run_id::text, '')) < (known.first_at, coalesce(known.run_id::text, ''))
        THEN excluded.run_id ELSE known.run_id
    END,
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at)
WHERE (excluded.first_at, coalesce(excluded.run_id::text, '')) < (known.first_at, coalesce(known.run_id::text, ''))
   OR excluded.last_at > known.last_at
