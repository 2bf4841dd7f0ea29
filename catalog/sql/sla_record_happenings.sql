INSERT INTO catalog.happening (
    organisation_id, kind, severity, subject_type, subject, dataset_id, process_id, owners, incident_id, at, noticed_at, facts
)
SELECT %(organisation)s, kind, severity, subject_type, subject, CASE subject_type WHEN 'DATASET' THEN subject_id END,
       CASE subject_type WHEN 'PROCESS' THEN subject_id END,
       ARRAY (SELECT jsonb_array_elements_text(owners)), incident_id, at, %(now)s, facts
FROM ROWS FROM (jsonb_to_recordset(%(happenings)s) AS (
    kind text, severity text, subject_type text, subject text, subject_id uuid, owners jsonb, incident_id uuid,
    at timestamptz, facts jsonb
)) WITH ORDINALITY AS item (
    kind, severity, subject_type, subject, subject_id, owners, incident_id, at, facts, ordinal
)
ORDER BY ordinal
