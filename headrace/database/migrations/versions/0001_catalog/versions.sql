-- Versions, the pointers to published versions, pins, and materializations to report to Dagster. A partition_key of ''
-- means: not partitioned.

-- Immutable. `outcome` is decided in the transaction that inserts the row. row_count and byte_size are null where
-- another system wrote the version and did not count.
CREATE TABLE catalog.dataset_version (
    dataset_version_id uuid PRIMARY KEY,
    organisation_id    uuid NOT NULL,
    dataset_id         uuid NOT NULL REFERENCES catalog.dataset,
    partition_key      text COLLATE "C" NOT NULL,
    version_tag        text COLLATE "C" NOT NULL,
    path               text NOT NULL,
    format             text NOT NULL,
    row_count          bigint,
    byte_size          bigint,
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
    lineage_hash       text COLLATE "C",
    provenance_id      uuid,
    UNIQUE (dataset_id, version_tag, partition_key)
);
-- A blocked or superseded version does not use up its key: a retry of its run may still publish.
CREATE UNIQUE INDEX dataset_version_idempotency ON catalog.dataset_version (organisation_id, idempotency_key)
    WHERE outcome = 'PUBLISHED';
CREATE INDEX dataset_version_recent ON catalog.dataset_version (organisation_id, produced_at DESC);
CREATE INDEX dataset_version_newest ON catalog.dataset_version (dataset_id, produced_at DESC, dataset_version_id);
CREATE INDEX dataset_version_newest_of_partition
    ON catalog.dataset_version (dataset_id, partition_key, produced_at DESC, dataset_version_id);
CREATE INDEX dataset_version_run ON catalog.dataset_version (produced_by_run_id);

-- Rows that were erased from all versions of a dataset. condition: selected them, with ? for each value.
CREATE TABLE catalog.erasure (
    erasure_id      uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    condition       text NOT NULL,
    reason          text NOT NULL,
    erased_by       text NOT NULL,
    erased_at       timestamptz NOT NULL DEFAULT now(),
    versions        integer NOT NULL,
    row_count       bigint NOT NULL
);

-- Versions whose rows were deleted, or are about to be: they stay in the history and can no longer be read.
-- erasure_id: of the erasure that deleted them, null if they had expired.
CREATE TABLE catalog.expired_version (
    dataset_version_id uuid PRIMARY KEY REFERENCES catalog.dataset_version ON DELETE CASCADE DEFERRABLE,
    organisation_id    uuid NOT NULL,
    expired_at         timestamptz NOT NULL,
    rows_deleted_at    timestamptz,
    erasure_id         uuid REFERENCES catalog.erasure
);
CREATE INDEX expired_version_left ON catalog.expired_version (organisation_id) WHERE rows_deleted_at IS NULL;

-- A row without a version is reserved by a publish that has not published yet (generation 0), or was withdrawn.
CREATE TABLE catalog.published_pointer (
    dataset_id         uuid NOT NULL REFERENCES catalog.dataset,
    partition_key      text COLLATE "C" NOT NULL,
    organisation_id    uuid NOT NULL,
    dataset_version_id uuid REFERENCES catalog.dataset_version DEFERRABLE,
    generation         integer NOT NULL DEFAULT 0 CHECK (generation > 0 OR dataset_version_id IS NULL),
    moved_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, partition_key)
) WITH (fillfactor = 70);
CREATE INDEX published_pointer_version ON catalog.published_pointer (dataset_version_id);

-- The history of every pointer; it answers `as_of`. WITHDRAW: the declaration no longer had the partition. RESTORE: it
-- had it again. former_definition, of these two: what gave the key its meaning before the move (type, time zone,
-- dimensions; JSON null without partitions), under which previous_version_id was published.
CREATE TABLE catalog.pointer_move (
    dataset_id          uuid NOT NULL REFERENCES catalog.dataset,
    partition_key       text COLLATE "C" NOT NULL,
    generation          integer NOT NULL,
    organisation_id     uuid NOT NULL,
    dataset_version_id  uuid REFERENCES catalog.dataset_version DEFERRABLE,
    previous_version_id uuid,
    kind                text NOT NULL CHECK (kind IN ('PUBLISH', 'ROLLBACK', 'WITHDRAW', 'RESTORE')),
    run_id              uuid,
    moved_by            text,
    reason              text,
    former_definition   jsonb,
    moved_at            timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, partition_key, generation),
    CHECK ((dataset_version_id IS NULL) = (kind = 'WITHDRAW'))
);
CREATE INDEX pointer_move_version ON catalog.pointer_move (dataset_version_id);
-- A pointer that a person moved is not derived from the versions.
CREATE INDEX pointer_move_rollback ON catalog.pointer_move (dataset_id) WHERE kind = 'ROLLBACK';

CREATE TABLE catalog.version_input (
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    input_version_id   uuid NOT NULL REFERENCES catalog.dataset_version DEFERRABLE,
    organisation_id    uuid NOT NULL,
    PRIMARY KEY (dataset_version_id, input_version_id)
);
CREATE INDEX version_input_input ON catalog.version_input (input_version_id, dataset_version_id);

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

-- Genuine completions and reported versions that Dagster does not have yet; a row is deleted when Dagster has it.
-- subject_type, subject_id: the process that completed, or the dataset of the version. While a row waits, later reports
-- of the same run change event_key and at.
CREATE TABLE catalog.pending_materialization (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject_id      uuid NOT NULL,
    partition_key   text COLLATE "C" NOT NULL,
    subject_type    text NOT NULL CHECK (subject_type IN ('PROCESS', 'DATASET')),
    event_key       text COLLATE "C" NOT NULL,
    at              timestamptz NOT NULL,
    run_id          uuid,
    version_id      uuid REFERENCES catalog.dataset_version DEFERRABLE,
    changed_at      timestamptz NOT NULL DEFAULT now(),
    completion_id   uuid GENERATED ALWAYS AS (coalesce(version_id, run_id)) STORED,
    PRIMARY KEY (organisation_id, completion_id)
) WITH (fillfactor = 70);
CREATE INDEX pending_materialization_at ON catalog.pending_materialization (at);
CREATE INDEX pending_materialization_version ON catalog.pending_materialization (version_id) WHERE version_id IS NOT NULL;
-- By it a corrected report of a run finds its row.
CREATE INDEX pending_materialization_event ON catalog.pending_materialization (organisation_id, event_key);

-- Versions published by a run that has not yet reported them to Dagster, or not to all systems that their dataset's
-- declaration lists under `notify`. The publishing transaction inserts a row; it is deleted once all of them know.
-- delivered: notifications that are. failure: why others are not; tries, next_try_at: of these.
CREATE TABLE catalog.unreported_version (
    dataset_version_id uuid PRIMARY KEY REFERENCES catalog.dataset_version DEFERRABLE,
    organisation_id    uuid NOT NULL REFERENCES catalog.organisation,
    delivered          text[] NOT NULL DEFAULT '{}',
    failure            text,
    tries              integer NOT NULL DEFAULT 0,
    next_try_at        timestamptz NOT NULL DEFAULT now()
);
