-- Create the datasets of confirmed candidates, unless they exist, and record who decided. An undeclared one gets the
-- confirmed attributes.
WITH decision AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(decisions)s) AS item (
        instance text, pattern text, status text, dataset text, namespace text, name text, format text, owners text[],
        metadata jsonb
    )
), made AS (
    INSERT INTO catalog.dataset AS known (
        organisation_id, namespace, name, full_name, default_format, owners, tags, columns, metadata_json,
        declaration_hash
    )
    SELECT DISTINCT ON (dataset) %(organisation)s::uuid, namespace, name, dataset, format, owners, '{}'::jsonb,
           '[]'::jsonb, metadata, ''
    FROM decision
    WHERE status = 'CONFIRMED'
    ORDER BY dataset, pattern
    ON CONFLICT (organisation_id, full_name) DO UPDATE SET
        status = CASE known.status WHEN 'DRAFT' THEN 'ACTIVE' ELSE known.status END,
        default_format = CASE known.declaration_hash WHEN '' THEN excluded.default_format ELSE known.default_format END,
        owners = CASE
            WHEN known.declaration_hash = '' AND excluded.owners <> '{}' THEN excluded.owners ELSE known.owners
        END,
        metadata_json = CASE known.declaration_hash
            WHEN '' THEN known.metadata_json || excluded.metadata_json ELSE known.metadata_json
        END,
        updated_at = now()
    RETURNING dataset_id, full_name
), registered AS (
    INSERT INTO catalog.dataset_registration (
        organisation_id, dataset_id, submitted_by, status, reviewer, review_comment
    )
    SELECT %(organisation)s, made.dataset_id, 'scan', 'APPROVED', %(by)s, 'found as ' || decision.pattern
    FROM decision
    JOIN made ON made.full_name = decision.dataset
)
UPDATE catalog.dataset_candidate candidate SET
    status = decision.status,
    dataset_id = made.dataset_id,
    decided_by = %(by)s,
    decided_at = now()
FROM decision
LEFT JOIN made ON made.full_name = decision.dataset AND decision.status = 'CONFIRMED'
WHERE candidate.organisation_id = %(organisation)s
  AND candidate.instance = decision.instance
  AND candidate.pattern = decision.pattern
