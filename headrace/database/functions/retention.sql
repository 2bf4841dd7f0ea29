-- Selection of runs to archive.

-- Return the runs of an organisation to archive: started in [first, last), ended before `before`. Not: runs that may
-- still end (for a year) or have a live attempt; the newest run and the newest success of each process, which stay
-- known without the archive; runs that Dagster does not have yet.
CREATE OR REPLACE FUNCTION catalog.archivable_runs(
    of_organisation uuid, before timestamptz, first timestamptz, last timestamptz
) RETURNS TABLE (run_id uuid, start_ts timestamptz) LANGUAGE sql STABLE AS $$
    WITH cold AS MATERIALIZED (
        SELECT run.run_id, run.start_ts, run.process_id
        FROM catalog.process_run run
        WHERE run.organisation_id = of_organisation
          AND run.start_ts >= first
          AND run.start_ts < least(last, before)
          AND coalesce(run.end_ts, run.start_ts) < before
          AND (run.status NOT IN ('RUNNING', 'QUEUED', 'HELD') OR run.start_ts < before - interval '1 year')
          AND NOT EXISTS (
              SELECT
              FROM catalog.run_attempt live
              WHERE live.run_id = run.run_id AND live.state = 'RUNNING' AND live.lock_key IS NOT NULL
          )
    ), kept AS MATERIALIZED (
        SELECT newest.run_id
        FROM (SELECT DISTINCT process_id FROM cold) process
        CROSS JOIN LATERAL (
            (SELECT run.run_id
             FROM catalog.process_run run
             WHERE run.process_id = process.process_id
             ORDER BY run.start_ts DESC, run.run_id DESC
             LIMIT 1)
            UNION ALL
            (SELECT run.run_id
             FROM catalog.process_run run
             WHERE run.process_id = process.process_id AND run.status = 'SUCCESS'
             ORDER BY run.start_ts DESC, run.run_id DESC
             LIMIT 1)
        ) newest
        UNION ALL
        SELECT pending.run_id
        FROM catalog.pending_materialization pending
        WHERE pending.organisation_id = of_organisation AND pending.run_id IS NOT NULL
    )
    SELECT cold.run_id, cold.start_ts FROM cold WHERE cold.run_id NOT IN (SELECT kept.run_id FROM kept)
$$;

-- Return a number of a retention rule; null for anything else. A registration over HTTP may have any metadata, which must
-- not stop the retention of other datasets.
CREATE OR REPLACE FUNCTION catalog.kept_number(value jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN greatest(1, least(value::numeric, 10000))::integer END
$$;

-- Return a number of days of a retention class, which may be longer; null for anything else.
CREATE OR REPLACE FUNCTION catalog.kept_days(value jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN greatest(1, least(value::numeric, 40000))::integer END
$$;

-- Return a dataset of an event that Headrace published without the values of rows: the bounds of columns, and examples of
-- failing rows.
CREATE OR REPLACE FUNCTION catalog.dataset_without_values(dataset jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN dataset #> '{facets,headrace_versions,versions}' IS NULL THEN dataset ELSE jsonb_set(
        dataset, '{facets,headrace_versions,versions}', (
            SELECT jsonb_agg(version || jsonb_build_object('statistics', '{}'::jsonb, 'checks', coalesce((
                SELECT jsonb_agg(result || '{"detail": {}}'::jsonb ORDER BY result_place)
                FROM jsonb_array_elements(version -> 'checks') WITH ORDINALITY AS item (result, result_place)
            ), '[]')) ORDER BY place)
            FROM jsonb_array_elements(dataset #> '{facets,headrace_versions,versions}')
                WITH ORDINALITY AS item (version, place)
        )) END
$$;

CREATE OR REPLACE FUNCTION catalog.event_without_values(event jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN event ? 'dataset' THEN
            jsonb_set(event, '{dataset}', catalog.dataset_without_values(event -> 'dataset'))
        ELSE jsonb_set(event, '{outputs}', coalesce((
            SELECT jsonb_agg(catalog.dataset_without_values(output) ORDER BY place)
            FROM jsonb_array_elements(event -> 'outputs') WITH ORDINALITY AS item (output, place)
        ), '[]')) END
$$;
