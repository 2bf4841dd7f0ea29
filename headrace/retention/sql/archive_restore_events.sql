-- What was reported before, back among what has been reported since.
INSERT INTO catalog.run_event
SELECT * FROM jsonb_populate_recordset(NULL::catalog.run_event, %(events)s)
