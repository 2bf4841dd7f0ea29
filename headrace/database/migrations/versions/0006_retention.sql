-- What is archived, and the roll-ups that outlive it.

-- A Parquet file of the archive. WRITING: of a pass that goes on, or died; what it holds is in the tables still.
-- KEPT: what it holds is nowhere else. REPLACED: its rows are in another file now. Only KEPT ones are read.
-- location: below the archive's URI. month: of the rows, by which they lie in folders. first_ts, last_ts: their times.
CREATE TABLE catalog.archive_file (
    file_id         uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    kind            text NOT NULL CHECK (kind IN ('RUN', 'EVENT')),
    month           date NOT NULL,
    location        text COLLATE "C" NOT NULL,
    state           text NOT NULL DEFAULT 'WRITING' CHECK (state IN ('WRITING', 'KEPT', 'REPLACED')),
    first_ts        timestamptz,
    last_ts         timestamptz,
    row_count       bigint,
    byte_size       bigint,
    written_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, location),
    CHECK (state = 'WRITING' OR (first_ts, last_ts, row_count, byte_size) IS NOT NULL)
);
CREATE INDEX archive_file_time ON catalog.archive_file (organisation_id, kind, last_ts DESC) WHERE state = 'KEPT';

-- Of archived runs that made versions, what says which process made a version: as many as there are versions.
CREATE TABLE catalog.archived_run (
    run_id          uuid PRIMARY KEY,
    organisation_id uuid NOT NULL,
    process_id      uuid NOT NULL REFERENCES catalog.process,
    start_ts        timestamptz NOT NULL
);

-- Which process a run is of, archived or not, for whoever asks what made a version.
CREATE VIEW catalog.run_process WITH (security_invoker = true) AS
SELECT run_id, organisation_id, process_id, start_ts FROM catalog.process_run
UNION ALL
SELECT run_id, organisation_id, process_id, start_ts
FROM catalog.archived_run archived
WHERE NOT EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = archived.run_id);

-- Sums over archived runs by process, day (UTC) of the start, and state. attempts: how often they were tried.
-- timed: how many have an end; seconds: how long those took in all, longest: at most.
CREATE TABLE catalog.run_day (
    process_id      uuid NOT NULL REFERENCES catalog.process,
    day             date NOT NULL,
    state           text COLLATE "C" NOT NULL,
    organisation_id uuid NOT NULL,
    runs            bigint NOT NULL,
    attempts        bigint NOT NULL,
    timed           bigint NOT NULL,
    seconds         double precision NOT NULL,
    longest         double precision,
    PRIMARY KEY (process_id, day, state)
);

-- Counts of archived events by day (UTC) and type.
CREATE TABLE catalog.event_day (
    organisation_id uuid NOT NULL,
    day             date NOT NULL,
    event_type      text COLLATE "C" NOT NULL,
    events          bigint NOT NULL,
    PRIMARY KEY (organisation_id, day, event_type)
);

-- The long-term roll-ups: what is archived and what is not, in one.
CREATE VIEW catalog.run_daily WITH (security_invoker = true) AS
SELECT organisation_id, process_id, day, state, sum(runs)::bigint AS runs, sum(attempts)::bigint AS attempts,
       sum(timed)::bigint AS timed, sum(seconds) AS seconds, max(longest) AS longest
FROM (
    SELECT organisation_id, process_id, day, state, runs, attempts, timed, seconds, longest
    FROM catalog.run_day
    UNION ALL
    SELECT organisation_id, process_id, (start_ts AT TIME ZONE 'UTC')::date, status, count(*), sum(greatest(attempt, 1)),
           count(end_ts), coalesce(sum(extract(epoch FROM end_ts - start_ts)), 0)::double precision,
           max(extract(epoch FROM end_ts - start_ts))::double precision
    FROM catalog.process_run
    GROUP BY 1, 2, 3, 4
) part
GROUP BY organisation_id, process_id, day, state;

CREATE VIEW catalog.event_daily WITH (security_invoker = true) AS
SELECT organisation_id, day, event_type, sum(events)::bigint AS events
FROM (
    SELECT organisation_id, day, event_type, events
    FROM catalog.event_day
    UNION ALL
    SELECT organisation_id, (event_time AT TIME ZONE 'UTC')::date, event_type, count(*)
    FROM catalog.run_event
    GROUP BY 1, 2, 3
) part
GROUP BY organisation_id, day, event_type;

-- The runs of an organisation that may be archived: over before `before`, begun in [first, last). Not those that may
-- still end (for a year), nor that a process lives which makes them; nor each process's newest run and newest success,
-- so that these are known without the archive, however long ago; nor what Dagster is yet to be told of.
CREATE FUNCTION catalog.archivable_runs(
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

-- Drops the monthly partitions that are over before `before` and hold nothing any more, of whatever organisation: where
-- row-level security would hide rows from whoever asks, it fails.
CREATE FUNCTION catalog.drop_partitions(before timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path = catalog SET timezone = 'UTC' SET row_security = off AS $$
DECLARE
    parent text; child text; filled boolean; dropped integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['process_run', 'run_event'] LOOP
        FOR child IN
            SELECT relname
            FROM pg_inherits
            JOIN pg_class ON pg_class.oid = inhrelid
            WHERE inhparent = ('catalog.' || parent)::regclass
              AND relname ~ '_\d{4}_\d{2}$'
              AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= before
            ORDER BY relname
        LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', child) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('LOCK TABLE ONLY %I, ONLY %I IN ACCESS EXCLUSIVE MODE', parent, child);
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', child) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('DROP TABLE %I', child);
            dropped := dropped + 1;
        END LOOP;
    END LOOP;
    RETURN dropped;
END $$;
