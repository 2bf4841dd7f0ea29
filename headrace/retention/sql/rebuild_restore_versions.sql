-- A version that somebody pinned, read, checked or has yet to get stays, although no event reports it any more.
INSERT INTO catalog.dataset_version SELECT * FROM pg_temp.former_version ON CONFLICT DO NOTHING
