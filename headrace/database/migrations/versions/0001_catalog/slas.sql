-- SLAs, their objectives and outcomes, incidents, planned outages and heartbeats.

-- An SLA of a dataset or of a process. origin: SCANNED for attributes of a job's definition. compiled_at: the
-- updated_at of the definition that the objectives were made from.
CREATE TABLE catalog.sla (
    sla_id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid UNIQUE REFERENCES catalog.dataset,
    definition      jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    process_id      uuid UNIQUE REFERENCES catalog.process,
    compiled_at     timestamptz,
    origin          text NOT NULL DEFAULT 'DECLARED' CHECK (origin IN ('DECLARED', 'SCANNED')),
    CONSTRAINT sla_of_one CHECK (num_nonnulls(dataset_id, process_id) = 1)
) WITH (fillfactor = 50);

-- An objective of an SLA and its status. definition: as in the SLA. opens_at, deadline, partition_key: of the delivery
-- expected now; met_at: when it came. newest_at: the newest delivery taken into account. next_at: when to evaluate it
-- even if nothing arrives. settled: deadlines up to it have their outcome. miss_probability, expected_*: the forecast.
-- waits_for, waits_minutes: the process that delays it, and by how much. A tick may write every row and reads all of
-- them: a page has room for each row twice, and no index has a column that a tick changes in most rows. In this table
-- and those below, foreign keys would cost a look-up for each row: the joins of a tick ensure them instead.
CREATE TABLE catalog.sla_objective (
    objective_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id  uuid NOT NULL,
    sla_id           uuid NOT NULL REFERENCES catalog.sla ON DELETE CASCADE,
    kind             text COLLATE "C" NOT NULL CHECK (kind IN ('DELIVERY', 'AGE', 'START', 'RUN_TIME', 'VOLUME')),
    ordinal          integer NOT NULL DEFAULT 0,
    dataset_id       uuid,
    process_id       uuid,
    definition       jsonb NOT NULL,
    state            text NOT NULL CHECK (
        state IN ('UNKNOWN', 'ON_TRACK', 'AT_RISK', 'LATE', 'MET_LATE', 'MISSED', 'PAUSED')),
    since            timestamptz NOT NULL,
    reason           text NOT NULL,
    settled          timestamptz,
    opens_at         timestamptz,
    deadline         timestamptz,
    partition_key    text COLLATE "C" NOT NULL DEFAULT '',
    met_at           timestamptz,
    newest_at        timestamptz,
    run_id           uuid,
    next_at          timestamptz NOT NULL,
    evaluated_at     timestamptz NOT NULL,
    forecast_at      timestamptz,
    miss_probability double precision,
    expected_at      timestamptz,
    expected_from    timestamptz,
    expected_to      timestamptz,
    waits_for        text,
    waits_for_id     uuid,
    waits_minutes    double precision,
    incident_id      uuid,
    CHECK (num_nonnulls(dataset_id, process_id) = 1),
    UNIQUE (sla_id, kind, ordinal)
) WITH (fillfactor = 45);
CREATE INDEX sla_objective_dataset ON catalog.sla_objective (dataset_id);
CREATE INDEX sla_objective_process ON catalog.sla_objective (process_id);
CREATE INDEX sla_objective_incident ON catalog.sla_objective (incident_id) WHERE incident_id IS NOT NULL;

-- Up to 200 arrivals of a dataset or process, the run time of each, and the row count of each version: three rows of
-- 8-byte floats, times in seconds, NaN for unknown.
CREATE TABLE catalog.sla_arrival_history (
    subject_id      uuid PRIMARY KEY,
    organisation_id uuid NOT NULL,
    learned_at      timestamptz NOT NULL,
    history         bytea NOT NULL
);

-- The status changes of objectives. at: when it happened; detected_at: when the engine found it.
CREATE TABLE catalog.sla_change (
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL,
    dataset_id      uuid,
    process_id      uuid,
    kind            text COLLATE "C" NOT NULL,
    ordinal         integer NOT NULL,
    state           text NOT NULL,
    before          text NOT NULL,
    at              timestamptz NOT NULL,
    detected_at     timestamptz NOT NULL,
    deadline        timestamptz,
    partition_key   text COLLATE "C" NOT NULL,
    reason          text NOT NULL
);
CREATE INDEX sla_change_dataset ON catalog.sla_change (dataset_id, at DESC);
CREATE INDEX sla_change_process ON catalog.sla_change (process_id, at DESC);

-- The outcome of each deadline. arrived_at: null where nothing arrived before the next deadline. The outcomes of an
-- objective that ends are kept.
CREATE TABLE catalog.sla_outcome (
    organisation_id uuid NOT NULL,
    subject_id      uuid NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    ordinal         integer NOT NULL,
    deadline        timestamptz NOT NULL,
    dataset_id      uuid,
    process_id      uuid,
    partition_key   text COLLATE "C" NOT NULL,
    outcome         text NOT NULL CHECK (outcome IN ('MET', 'MET_LATE', 'MISSED', 'PAUSED')),
    arrived_at      timestamptz,
    PRIMARY KEY (subject_id, kind, ordinal, deadline)
);

-- The open days of a business calendar of another system, from a scan.
CREATE TABLE catalog.business_calendar (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    instance        text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    days            date[] NOT NULL,
    PRIMARY KEY (organisation_id, name, instance)
);

-- One cause with everything it affects. cause_key: the dataset, process or sensor to look at. waits: the cause is that
-- something has not arrived, which another incident may explain; holds: others wait for it. part_of: the incident that
-- turned out to be the cause of this one, which is then closed and continues as part of that.
CREATE TABLE catalog.incident (
    incident_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    cause_type      text NOT NULL CHECK (cause_type IN ('DATASET', 'PROCESS', 'SENSOR')),
    cause_key       text COLLATE "C" NOT NULL,
    dataset_id      uuid REFERENCES catalog.dataset,
    process_id      uuid REFERENCES catalog.process,
    reason          text NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    run_id          uuid,
    waits           boolean NOT NULL DEFAULT false,
    holds           boolean NOT NULL DEFAULT false,
    opened_at       timestamptz NOT NULL,
    closed_at       timestamptz,
    part_of         uuid
);
CREATE UNIQUE INDEX incident_open ON catalog.incident (organisation_id, cause_type, cause_key) WHERE closed_at IS NULL;
CREATE INDEX incident_newest ON catalog.incident (organisation_id, opened_at DESC);
CREATE INDEX incident_part ON catalog.incident (part_of) WHERE part_of IS NOT NULL;
CREATE INDEX incident_cause ON catalog.incident (organisation_id, cause_key, opened_at DESC);

-- A time in which some datasets or processes are not expected. subjects: keys, as patterns with `*`.
CREATE TABLE catalog.planned_outage (
    outage_id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subjects        text COLLATE "C" NOT NULL,
    begins_at       timestamptz NOT NULL,
    ends_at         timestamptz NOT NULL CHECK (ends_at > begins_at),
    reason          text NOT NULL,
    planned_by      text NOT NULL,
    planned_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX planned_outage_end ON catalog.planned_outage (organisation_id, ends_at);

-- The last and the previous evaluation of all objectives. steady_since: since when there was no gap. zone_rules: the
-- digest of the time zone rules used.
CREATE TABLE catalog.sla_tick (
    organisation_id uuid PRIMARY KEY REFERENCES catalog.organisation,
    evaluated_at    timestamptz NOT NULL,
    before          timestamptz,
    steady_since    timestamptz NOT NULL,
    zone_rules      text NOT NULL
);

-- The last successful tick of a sensor, and the seconds without one after which it counts as dead. failure: the error of
-- the last tick, null if it succeeded.
CREATE TABLE catalog.heartbeat (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    sensor          text COLLATE "C" NOT NULL,
    ticked_at       timestamptz,
    failed_at       timestamptz,
    failure         text,
    silent_after    integer NOT NULL,
    incident_id     uuid REFERENCES catalog.incident,
    PRIMARY KEY (organisation_id, sensor)
) WITH (fillfactor = 50);
