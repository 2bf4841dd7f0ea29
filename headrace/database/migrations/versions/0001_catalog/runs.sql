-- Processes, their runs, the run events that runs are projected from, and the outbox.

-- instance: the scheduler (AUTOSERV) that runs the process, '' where there is only one. external_name: its name there.
-- lifecycle: RETIRED when the newest scan did not find it, or its project no longer declares it; UNSCANNED when a report names it and no scan has found it.
-- job_namespace, job_name: the job in OpenLineage; null for declared and scanned processes, whose job is
-- headrace://<organisation> and their key.
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
    instance         text COLLATE "C" NOT NULL DEFAULT '',
    external_name    text COLLATE "C",
    lifecycle        text NOT NULL DEFAULT 'ACTIVE' CHECK (lifecycle IN ('ACTIVE', 'UNSCANNED', 'RETIRED')),
    job_namespace    text COLLATE "C",
    job_name         text COLLATE "C",
    project          text COLLATE "C",
    UNIQUE (organisation_id, process_key),
    CHECK ((job_namespace IS NULL) = (job_name IS NULL))
);
CREATE UNIQUE INDEX process_external ON catalog.process (organisation_id, technology, instance, external_name)
    WHERE external_name IS NOT NULL;
CREATE UNIQUE INDEX process_job ON catalog.process (organisation_id, job_namespace, job_name) WHERE job_name IS NOT NULL;
-- Triggers name jobs of other systems by it.
CREATE INDEX process_job_name ON catalog.process (organisation_id, job_name) WHERE job_name IS NOT NULL;

-- parent_process_id: the box of a run of another system; its parent is the last run of the box that started before it.
-- archived_day: the day of the roll-up that counts the run as well, for one that was archived and then reported again.
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
    parent_process_id   uuid,
    archived_day        date,
    PRIMARY KEY (run_id, start_ts)
) PARTITION BY RANGE (start_ts);
CREATE INDEX process_run_process ON catalog.process_run (process_id, start_ts DESC);
CREATE INDEX process_run_start ON catalog.process_run (organisation_id, start_ts);
CREATE INDEX process_run_number ON catalog.process_run (organisation_id, (facets_json ->> 'external_run'))
    WHERE facets_json ? 'external_run';
CREATE INDEX process_run_root ON catalog.process_run (root_dagster_run_id);
CREATE INDEX process_run_box ON catalog.process_run (parent_process_id, start_ts) WHERE parent_process_id IS NOT NULL;
CREATE INDEX process_run_failed ON catalog.process_run (organisation_id, end_ts)
    WHERE status IN ('FAILED', 'TERMINATED', 'LOST', 'BLOCKED');
CREATE INDEX process_run_running ON catalog.process_run (organisation_id, start_ts) WHERE status = 'RUNNING';
CREATE INDEX process_run_held ON catalog.process_run (process_id, start_ts) WHERE status IN ('HELD', 'SKIPPED');
CREATE INDEX process_run_archived ON catalog.process_run (organisation_id) WHERE archived_day IS NOT NULL;
CREATE TABLE catalog.process_run_default PARTITION OF catalog.process_run DEFAULT;

-- lock_key: the advisory lock of a live attempt; null for an attempt that Headrace does not run itself. ending: how a
-- run of another system ended; only a GENUINE end is a materialization.
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
    ending          text CHECK (ending IN ('GENUINE', 'FORCED', 'BYPASSED')),
    exit_code       integer,
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

CREATE SEQUENCE catalog.run_event_sequence;

-- Raw events in the form of OpenLineage. event_time comes from the payload, so that a repeated event has the key of the
-- first. source: SCHEDULER for reports of schedulers and completion files, OPENLINEAGE for events received as such,
-- null for events of Headrace's own runs. Everything else about runs of other systems is derived from these events.
-- sequence: the order of arrival, from which readers continue. reported_by: the sender; null for events of the platform
-- itself.
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
    source          text CHECK (source IN ('SCHEDULER', 'OPENLINEAGE')),
    sequence        bigint NOT NULL DEFAULT nextval('catalog.run_event_sequence'),
    reported_by     text COLLATE "C" DEFAULT nullif(current_setting('headrace.subject', true), ''),
    PRIMARY KEY (event_time, content_hash, organisation_id)
) PARTITION BY RANGE (event_time);
CREATE INDEX run_event_run ON catalog.run_event (run_id);
CREATE INDEX run_event_report ON catalog.run_event (content_hash) WHERE source = 'SCHEDULER';
CREATE TABLE catalog.run_event_default PARTITION OF catalog.run_event DEFAULT;

-- The merged events of a run; to merge an event twice, or in another order, gives the same document. native: the run is
-- known from other sources. reported_run_id: the reported id, which is unique within a job only: where jobs or
-- organisations share one, the first has it as run_id, and the others an id computed from both.
CREATE TABLE catalog.openlineage_run (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    run_id          uuid NOT NULL,
    reported_run_id uuid NOT NULL,
    named_run_id    uuid,
    process_id      uuid NOT NULL REFERENCES catalog.process,
    document        jsonb NOT NULL,
    native          boolean NOT NULL,
    first_at        timestamptz NOT NULL,
    last_at         timestamptz NOT NULL,
    PRIMARY KEY (organisation_id, run_id)
);
CREATE UNIQUE INDEX openlineage_run_id ON catalog.openlineage_run (run_id);
CREATE UNIQUE INDEX openlineage_run_reported ON catalog.openlineage_run (organisation_id, reported_run_id, process_id);
CREATE INDEX openlineage_run_named ON catalog.openlineage_run (named_run_id) WHERE named_run_id IS NOT NULL;
CREATE INDEX openlineage_run_process ON catalog.openlineage_run (process_id, last_at DESC);
CREATE INDEX openlineage_run_last ON catalog.openlineage_run (last_at);

-- A dataset read or written by a run, under the reported name. version: the version as the run reported it.
CREATE TABLE catalog.run_dataset (
    organisation_id uuid NOT NULL,
    run_id          uuid NOT NULL,
    name_id         uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    role            text NOT NULL CHECK (role IN ('INPUT', 'OUTPUT')),
    version         text COLLATE "C",
    partition_key   text COLLATE "C" NOT NULL DEFAULT '',
    facets          jsonb NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (organisation_id, run_id, name_id, role)
);
CREATE INDEX run_dataset_name ON catalog.run_dataset (name_id, role, at DESC);
CREATE INDEX run_dataset_version ON catalog.run_dataset (name_id, version) WHERE version IS NOT NULL;

-- The newest facet of each name of a dataset (by name_id) or a process. A deleted facet keeps its row.
CREATE TABLE catalog.facet (
    subject_type    text NOT NULL CHECK (subject_type IN ('DATASET', 'PROCESS')),
    subject_id      uuid NOT NULL,
    name            text COLLATE "C" NOT NULL,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    at              timestamptz NOT NULL,
    digest          text COLLATE "C" NOT NULL,
    content         jsonb NOT NULL,
    modelled        boolean NOT NULL,
    deleted         boolean NOT NULL,
    PRIMARY KEY (subject_type, subject_id, name)
);

-- The genuine completions of runs elsewhere, for triggers and for Dagster, derived from the events of a run. sequence:
-- of the event that reports it. process_id null: the event registers a dataset and names no process. moment: the start
-- of the attempt, or its end where only that is known. partition_key: the business date or other key that the event
-- names, '' for none; run_partition_key: the one that another event of the run names.
CREATE TABLE catalog.completion (
    organisation_id   uuid NOT NULL REFERENCES catalog.organisation,
    event_key         text COLLATE "C" NOT NULL,
    sequence          bigint NOT NULL,
    run_id            uuid,
    process_id        uuid REFERENCES catalog.process,
    run               text COLLATE "C",
    attempt           integer NOT NULL,
    status            text NOT NULL,
    at                timestamptz NOT NULL,
    started_at        timestamptz,
    moment            timestamptz NOT NULL,
    exit_code         integer,
    machine           text,
    log_location      text,
    partition_key     text COLLATE "C" NOT NULL,
    run_partition_key text COLLATE "C" NOT NULL,
    historical        boolean NOT NULL,
    PRIMARY KEY (organisation_id, event_key)
);
CREATE INDEX completion_run ON catalog.completion (run_id);
CREATE INDEX completion_process ON catalog.completion (process_id, sequence);
CREATE INDEX completion_sequence ON catalog.completion (organisation_id, sequence);

-- transaction_id is the order in which rows become visible: all rows before the oldest open transaction are complete.
-- outbox_id alone does not show that.
CREATE TABLE catalog.outbox (
    outbox_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL,
    topic           text NOT NULL,
    payload_json    jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    transaction_id  bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX outbox_visible ON catalog.outbox (organisation_id, transaction_id, outbox_id);

-- The position of a reader of the outbox; rows before it are not kept for this reader.
CREATE TABLE catalog.outbox_reader (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    reader          text COLLATE "C" NOT NULL,
    transaction_id  bigint NOT NULL,
    outbox_id       bigint NOT NULL,
    read_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, reader)
);
