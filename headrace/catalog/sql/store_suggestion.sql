INSERT INTO catalog.sensitivity_suggestion AS known (organisation_id, dataset_id, column_name, kind, confidence, reason)
VALUES (%(organisation)s, %(dataset_id)s, %(column)s, %(kind)s, %(confidence)s, %(reason)s)
ON CONFLICT (dataset_id, column_name) DO UPDATE SET
    kind = excluded.kind, confidence = excluded.confidence, reason = excluded.reason, suggested_at = now(),
    status = 'PENDING', decided_by = NULL, decided_at = NULL, note = NULL
WHERE known.status = 'PENDING'
   OR known.status = 'DISMISSED'
      AND (known.kind, regexp_replace(known.reason, '[0-9,]+ of [0-9,]+ values', '', 'g'))
          IS DISTINCT FROM (excluded.kind, regexp_replace(excluded.reason, '[0-9,]+ of [0-9,]+ values', '', 'g'))
