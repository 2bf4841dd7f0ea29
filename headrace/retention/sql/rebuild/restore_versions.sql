-- A version that was pinned, read, checked or is still pending for Dagster stays, although no event reports it any
-- more.
INSERT INTO catalog.dataset_version SELECT * FROM pg_temp.former_version ON CONFLICT DO NOTHING
