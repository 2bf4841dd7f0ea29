-- What was said before, back among what has been said since.
INSERT INTO catalog.reported_event AS known
SELECT * FROM jsonb_populate_recordset(NULL::catalog.reported_event, %(reports)s)
ON CONFLICT (organisation_id, event_key) DO UPDATE SET historical = known.historical AND excluded.historical
