-- How a run of another system ended: only a GENUINE end is a materialization.
ALTER TABLE catalog.run_attempt
    ADD COLUMN ending    text CHECK (ending IN ('GENUINE', 'FORCED', 'BYPASSED')),
    ADD COLUMN exit_code integer;

-- What another system wrote it need not have counted.
ALTER TABLE catalog.dataset_version ALTER COLUMN row_count DROP NOT NULL, ALTER COLUMN byte_size DROP NOT NULL;

-- The box that a run of another system belongs to: its run that was the last to start is the parent.
ALTER TABLE catalog.process_run ADD COLUMN parent_process_id uuid;
CREATE INDEX process_run_box ON catalog.process_run (parent_process_id, start_ts) WHERE parent_process_id IS NOT NULL;

-- How a raw event came to be: null for those that Headrace makes for its own runs, SCHEDULER for what schedulers and
-- completion files report, OPENLINEAGE for what was received as such. All else that is known of runs elsewhere is a function
-- of these events. sequence: the order of arrival, for readers that go on where they stopped.
CREATE SEQUENCE catalog.run_event_sequence;
ALTER TABLE catalog.run_event
    ADD COLUMN intake   text CHECK (intake IN ('SCHEDULER', 'OPENLINEAGE')),
    ADD COLUMN sequence bigint NOT NULL DEFAULT nextval('catalog.run_event_sequence');
CREATE INDEX run_event_report ON catalog.run_event (content_hash) WHERE intake = 'SCHEDULER';

-- The genuine successes of runs elsewhere, which triggers wait for and Dagster gets to know, as the events of their runs come
-- to. sequence: of the event that reports it. process_id null: a dataset was registered, and no process named. moment: when
-- the attempt began, or ended where that is all that is known. partition_key: the business date or other key that the event
-- names, '' for none; run_partition_key: that which another event of the run names.
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

-- The newest genuine completion of each process (partition_key ''), and the newest reported version of each dataset and
-- partition, that Dagster has been told of or is yet to be told. TELLING: somebody began to, and Dagster's record says
-- whether he did. A completion is that of a run, whoever reports it and how often: what else is said of the same run
-- changes event_key and at, and is not told again.
CREATE TABLE catalog.pending_materialization (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject_id      uuid NOT NULL,
    partition_key   text COLLATE "C" NOT NULL,
    subject_type    text NOT NULL CHECK (subject_type IN ('PROCESS', 'DATASET')),
    event_key       text COLLATE "C" NOT NULL,
    at              timestamptz NOT NULL,
    run_id          uuid,
    version_id      uuid REFERENCES catalog.dataset_version DEFERRABLE,
    state           text NOT NULL DEFAULT 'WAITING' CHECK (state IN ('WAITING', 'TELLING', 'TOLD')),
    changed_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, subject_id, partition_key)
) WITH (fillfactor = 70);
CREATE INDEX pending_materialization_at ON catalog.pending_materialization (at) WHERE state <> 'TOLD';
