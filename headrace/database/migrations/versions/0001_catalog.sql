-- The catalog as first released. One statement after another, run in one transaction by 0001_catalog.py.
-- A partition_key of '' means: not partitioned. Keys, tags and partition keys sort bytewise, on every server alike.

CREATE TABLE catalog.organisation (
    organisation_id uuid PRIMARY KEY,
    name            text NOT NULL UNIQUE,
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE catalog.dataset (
    dataset_id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id  uuid NOT NULL REFERENCES catalog.organisation,
    namespace        text COLLATE "C" NOT NULL,
    name             text COLLATE "C" NOT NULL,
    full_name        text COLLATE "C" NOT NULL,
    description      text,
    default_format   text NOT NULL,
    owners           text[] NOT NULL,
    tags             jsonb NOT NULL,
    columns          jsonb NOT NULL,
    partitions       text,
    status           text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('DRAFT', 'ACTIVE', 'DEPRECATED')),
    metadata_json    jsonb NOT NULL,
    declared_at      text,
    declaration_hash text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, full_name)
);

CREATE TABLE catalog.process (
    process_id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id  uuid NOT NULL REFERENCES catalog.organisation,
    process_key      text COLLATE "C" NOT NULL,
    description      text,
    technology       text NOT NULL,
    trigger_mode     text NOT NULL CHECK (trigger_mode IN ('PROCESS', 'DATASET', 'HYBRID')),
    owners           text[] NOT NULL,
    code_version     text,
    steps            jsonb NOT NULL,
    source           text,
    metadata_json    jsonb NOT NULL,
    declaration_hash text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, process_key)
);

-- One row a column of each schema that a dataset has had; many versions share a schema.
CREATE TABLE catalog.dataset_schema (
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    schema_hash     text COLLATE "C" NOT NULL,
    column_order    integer NOT NULL,
    organisation_id uuid NOT NULL,
    column_name     text NOT NULL,
    column_type     text NOT NULL,
    nullable        boolean NOT NULL,
    column_metadata jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, schema_hash, column_order)
);

-- Immutable. `outcome` is decided in the transaction that inserts the row.
CREATE TABLE catalog.dataset_version (
    dataset_version_id uuid PRIMARY KEY,
    organisation_id    uuid NOT NULL,
    dataset_id         uuid NOT NULL REFERENCES catalog.dataset,
    partition_key      text COLLATE "C" NOT NULL,
    version_tag        text COLLATE "C" NOT NULL,
    path               text NOT NULL,
    format             text NOT NULL,
    row_count          bigint NOT NULL,
    byte_size          bigint NOT NULL,
    file_count         integer NOT NULL,
    checksum           text NOT NULL,
    schema_hash        text COLLATE "C" NOT NULL,
    code_version       text,
    fingerprint        text,
    produced_by_run_id uuid,
    idempotency_key    text COLLATE "C" NOT NULL,
    outcome            text NOT NULL CHECK (outcome IN ('PUBLISHED', 'BLOCKED', 'SUPERSEDED')),
    reason             text,
    quarantine_path    text,
    quarantine_rows    bigint NOT NULL,
    statistics         jsonb NOT NULL,
    metadata_json      jsonb NOT NULL,
    produced_at        timestamptz NOT NULL,
    UNIQUE (dataset_id, version_tag, partition_key)
);
-- A blocked or superseded version does not use its key up: the retry of its run may still publish.
CREATE UNIQUE INDEX dataset_version_idempotency ON catalog.dataset_version (organisation_id, idempotency_key)
    WHERE outcome = 'PUBLISHED';
CREATE INDEX dataset_version_newest ON catalog.dataset_version (dataset_id, produced_at DESC, dataset_version_id);
CREATE INDEX dataset_version_newest_of_partition
    ON catalog.dataset_version (dataset_id, partition_key, produced_at DESC, dataset_version_id);
CREATE INDEX dataset_version_run ON catalog.dataset_version (produced_by_run_id);

-- A row without a version (generation 0) is a place that a publish has reserved and nothing was published to yet.
CREATE TABLE catalog.published_pointer (
    dataset_id         uuid NOT NULL REFERENCES catalog.dataset,
    partition_key      text COLLATE "C" NOT NULL,
    organisation_id    uuid NOT NULL,
    dataset_version_id uuid REFERENCES catalog.dataset_version DEFERRABLE,
    generation         integer NOT NULL DEFAULT 0 CHECK ((generation = 0) = (dataset_version_id IS NULL)),
    moved_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, partition_key)
) WITH (fillfactor = 70);
CREATE INDEX published_pointer_version ON catalog.published_pointer (dataset_version_id);

-- The history of every pointer; `as_of` is answered from here.
CREATE TABLE catalog.pointer_move (
    dataset_id          uuid NOT NULL REFERENCES catalog.dataset,
    partition_key       text COLLATE "C" NOT NULL,
    generation          integer NOT NULL,
    organisation_id     uuid NOT NULL,
    dataset_version_id  uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    previous_version_id uuid,
    kind                text NOT NULL CHECK (kind IN ('PUBLISH', 'ROLLBACK')),
    run_id              uuid,
    moved_by            text,
    reason              text,
    moved_at            timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, partition_key, generation)
);
CREATE INDEX pointer_move_version ON catalog.pointer_move (dataset_version_id);

CREATE TABLE catalog.version_input (
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    input_version_id   uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    organisation_id    uuid NOT NULL,
    PRIMARY KEY (dataset_version_id, input_version_id)
);
CREATE INDEX version_input_input ON catalog.version_input (input_version_id, dataset_version_id);

CREATE TABLE catalog.process_run (
    run_id              uuid NOT NULL,
    start_ts            timestamptz NOT NULL,
    organisation_id     uuid NOT NULL,
    process_id          uuid NOT NULL REFERENCES catalog.process,
    status              text NOT NULL,
    end_ts              timestamptz,
    attempt             integer NOT NULL,
    parent_run_id       uuid,
    root_dagster_run_id text COLLATE "C",
    partitions          text[] NOT NULL,
    log_location        text,
    facets_json         jsonb NOT NULL DEFAULT '{}',
    historical          boolean NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, start_ts)
) PARTITION BY RANGE (start_ts);
CREATE INDEX process_run_process ON catalog.process_run (process_id, start_ts DESC);
CREATE INDEX process_run_root ON catalog.process_run (root_dagster_run_id);
CREATE TABLE catalog.process_run_default PARTITION OF catalog.process_run DEFAULT;

-- lock_key: the advisory lock that a live attempt holds; null for an attempt that Headrace does not run itself.
CREATE TABLE catalog.run_attempt (
    run_id          uuid NOT NULL,
    attempt         integer NOT NULL,
    organisation_id uuid NOT NULL,
    run_start_ts    timestamptz NOT NULL,
    dagster_run_id  text COLLATE "C",
    state           text NOT NULL,
    start_ts        timestamptz NOT NULL,
    end_ts          timestamptz,
    reason          text,
    failure_kind    text,
    log_location    text,
    host            text,
    os_pid          integer,
    lock_key        bigint,
    PRIMARY KEY (run_id, attempt)
);
CREATE INDEX run_attempt_running ON catalog.run_attempt (run_id, attempt) WHERE state = 'RUNNING';
CREATE INDEX run_attempt_dagster ON catalog.run_attempt (dagster_run_id);

CREATE TABLE catalog.run_input (
    run_id             uuid NOT NULL,
    attempt            integer NOT NULL,
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    organisation_id    uuid NOT NULL,
    reason             text NOT NULL CHECK (reason IN ('PUBLISHED', 'PINNED', 'AS_OF')),
    PRIMARY KEY (run_id, attempt, dataset_version_id),
    FOREIGN KEY (run_id, attempt) REFERENCES catalog.run_attempt
);
CREATE INDEX run_input_version ON catalog.run_input (dataset_version_id);

-- Edges point the way data flows. An edge that ended keeps its row, with valid_to.
CREATE TABLE catalog.lineage_edge (
    edge_id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    source_type     text NOT NULL CHECK (source_type IN ('DATASET', 'PROCESS')),
    source_id       uuid NOT NULL,
    target_type     text NOT NULL CHECK (target_type IN ('DATASET', 'PROCESS')),
    target_id       uuid NOT NULL,
    edge_role       text NOT NULL CHECK (edge_role IN ('CONSUMES', 'PRODUCES', 'DERIVES')),
    process_id      uuid REFERENCES catalog.process,
    origin          text NOT NULL CHECK (origin IN ('DECLARED', 'OBSERVED')),
    valid_from      timestamptz NOT NULL DEFAULT now(),
    valid_to        timestamptz
);
CREATE UNIQUE INDEX lineage_edge_current
    ON catalog.lineage_edge (source_id, target_id, edge_role, process_id) NULLS NOT DISTINCT WHERE valid_to IS NULL;
CREATE INDEX lineage_edge_source ON catalog.lineage_edge (source_id, edge_role, target_id);
CREATE INDEX lineage_edge_target ON catalog.lineage_edge (target_id, edge_role, source_id);
CREATE INDEX lineage_edge_process ON catalog.lineage_edge (process_id);

-- Raw OpenLineage-shaped payloads. event_time comes from the payload, so that a doubled event meets its first.
CREATE TABLE catalog.run_event (
    event_time      timestamptz NOT NULL,
    event_id        uuid NOT NULL DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL,
    run_id          uuid,
    process_key     text,
    event_type      text NOT NULL,
    payload_json    jsonb NOT NULL,
    content_hash    text NOT NULL,
    historical      boolean NOT NULL DEFAULT false,
    received_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_time, content_hash, organisation_id)
) PARTITION BY RANGE (event_time);
CREATE INDEX run_event_run ON catalog.run_event (run_id);
CREATE TABLE catalog.run_event_default PARTITION OF catalog.run_event DEFAULT;

CREATE TABLE catalog.outbox (
    outbox_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL,
    topic           text NOT NULL,
    payload_json    jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE catalog.sla (
    sla_id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL UNIQUE REFERENCES catalog.dataset,
    definition      jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE catalog.quality_check_def (
    qdef_id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    name            text COLLATE "C" NOT NULL,
    kind            text NOT NULL,
    column_name     text,
    parameters      jsonb NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('WARNING', 'ERROR')),
    quarantine      boolean NOT NULL,
    description     text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    retired_at      timestamptz,
    UNIQUE (dataset_id, name)
);

CREATE TABLE catalog.quality_check_result (
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    name               text COLLATE "C" NOT NULL,
    organisation_id    uuid NOT NULL,
    status             text NOT NULL CHECK (status IN ('PASS', 'WARN', 'FAIL')),
    failed_rows        bigint,
    detail_json        jsonb NOT NULL,
    executed_at        timestamptz NOT NULL,
    PRIMARY KEY (dataset_version_id, name)
);
CREATE INDEX quality_check_result_bad ON catalog.quality_check_result (dataset_version_id) WHERE status <> 'PASS';

CREATE TABLE catalog.dataset_registration (
    reg_id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    submitted_by    text NOT NULL,
    submitted_at    timestamptz NOT NULL DEFAULT now(),
    status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED')),
    reviewer        text,
    review_comment  text
);
CREATE INDEX dataset_registration_dataset ON catalog.dataset_registration (dataset_id);

-- consumer_id null: for every reader of the dataset.
CREATE TABLE catalog.dataset_pin (
    pin_id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id    uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id         uuid NOT NULL REFERENCES catalog.dataset,
    partition_key      text COLLATE "C" NOT NULL,
    consumer_id        uuid REFERENCES catalog.dataset,
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    pinned_by          text NOT NULL,
    reason             text NOT NULL,
    pinned_at          timestamptz NOT NULL DEFAULT now(),
    unpinned_by        text,
    unpinned_at        timestamptz
);
CREATE UNIQUE INDEX dataset_pin_current ON catalog.dataset_pin (dataset_id, partition_key, consumer_id)
    NULLS NOT DISTINCT WHERE unpinned_at IS NULL;
CREATE INDEX dataset_pin_version ON catalog.dataset_pin (dataset_version_id);

-- Makes the monthly partitions of process_run and run_event from the month of `first` on, as many as `months`.
-- Rows that had to wait in a default partition move to their own. Cheap when all of them exist.
CREATE FUNCTION catalog.make_partitions(first timestamptz, months integer) RETURNS integer
LANGUAGE plpgsql SET search_path = catalog SET timezone = 'UTC' AS $$
DECLARE
    parent text; stamp text; child text; lower timestamptz; upper timestamptz; made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['process_run', 'run_event'] LOOP
        stamp := CASE parent WHEN 'process_run' THEN 'start_ts' ELSE 'event_time' END;
        FOR i IN 0 .. months - 1 LOOP
            lower := date_trunc('month', first) + make_interval(months => i);
            upper := lower + interval '1 month';
            child := parent || to_char(lower, '"_"YYYY"_"MM');
            CONTINUE WHEN to_regclass('catalog.' || child) IS NOT NULL;
            PERFORM pg_advisory_xact_lock(hashtextextended('headrace/make_partitions', 0));
            CONTINUE WHEN to_regclass('catalog.' || child) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
            EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) '
                           'INSERT INTO %I SELECT * FROM moved',
                           parent || '_default', stamp, lower, stamp, upper, child);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, lower, upper);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

SELECT catalog.make_partitions(now() - interval '1 month', 5);
