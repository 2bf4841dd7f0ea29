-- The completions that Dagster is yet to be told of: a row for each run and each version, which goes when it has been told.
-- What was told is in Dagster's own record. While a row waits, what else is said of the same run changes event_key and at.
DELETE FROM catalog.pending_materialization WHERE state = 'TOLD';
ALTER TABLE catalog.pending_materialization
    DROP CONSTRAINT pending_materialization_pkey,
    ADD COLUMN completion_id uuid GENERATED ALWAYS AS (coalesce(version_id, run_id)) STORED,
    ADD PRIMARY KEY (organisation_id, completion_id);
