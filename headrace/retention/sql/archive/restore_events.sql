-- Restore earlier reports next to those received since.
INSERT INTO catalog.run_event
SELECT * FROM jsonb_populate_recordset(NULL::catalog.run_event, %(events)s)
