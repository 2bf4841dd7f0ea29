-- The files of the archive, and the roll-ups of what it holds.

-- A Parquet file of the archive. WRITING: by a pass that is running or failed; the tables still have the rows. KEPT: no
-- other place has the rows. REPLACED: another file has them now. Only KEPT files are read. location: below the URI of
-- the archive. month: of the rows; files are in folders by month. first_ts, last_ts: the range of their times.
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

-- The process of each archived run that made versions, so that the origin of a version is known without the archive.
CREATE TABLE catalog.archived_run (
    run_id          uuid PRIMARY KEY,
    organisation_id uuid NOT NULL,
    process_id      uuid NOT NULL REFERENCES catalog.process,
    start_ts        timestamptz NOT NULL
);

-- Sums over archived runs by process, day (UTC) of the start, and state. attempts: number of attempts. timed: runs with
-- an end; seconds: their total duration; longest: their longest. run_ids, run_attempts, run_seconds: of each run, so that
-- one that is reported again after it was archived is not counted twice until it leaves the archive.
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
    run_ids         uuid[] NOT NULL,
    run_attempts    integer[] NOT NULL,
    run_seconds     double precision[] NOT NULL,
    PRIMARY KEY (process_id, day, state)
);
CREATE INDEX run_day_day ON catalog.run_day (organisation_id, day);
CREATE INDEX run_day_run ON catalog.run_day USING gin (run_ids) WITH (fastupdate = off);

-- Counts of archived events by day (UTC) and type.
CREATE TABLE catalog.event_day (
    organisation_id uuid NOT NULL,
    day             date NOT NULL,
    event_type      text COLLATE "C" NOT NULL,
    events          bigint NOT NULL,
    PRIMARY KEY (organisation_id, day, event_type)
);
