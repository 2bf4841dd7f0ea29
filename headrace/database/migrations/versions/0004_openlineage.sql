-- What OpenLineage calls the job that a process is; null for processes that are declared or scanned, which are known there
-- by headrace://<organisation> and their key.
ALTER TABLE catalog.process
    ADD COLUMN job_namespace text COLLATE "C",
    ADD COLUMN job_name      text COLLATE "C",
    ADD CHECK ((job_namespace IS NULL) = (job_name IS NULL));
CREATE UNIQUE INDEX process_job ON catalog.process (organisation_id, job_namespace, job_name) WHERE job_name IS NOT NULL;

-- Every name that anybody has for a dataset. name_id is computed from the name; the dataset that was made for a name has
-- it as its id, and is found by it after it has become part of another. reported: somebody read or wrote it by this name,
-- and did not only mention it. renamed: somebody said that it is called otherwise now. preferred: a person chose it.
CREATE TABLE catalog.dataset_name (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    namespace       text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    name_id         uuid NOT NULL UNIQUE,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    reported        boolean NOT NULL,
    renamed         boolean NOT NULL DEFAULT false,
    preferred       boolean NOT NULL DEFAULT false,
    kind            text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, namespace, name)
);
CREATE INDEX dataset_name_dataset ON catalog.dataset_name (dataset_id);

-- What people decided about names; made again after the events have been. former_id: the dataset that became part of
-- another, by which it is still found.
CREATE TABLE catalog.dataset_name_change (
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    kind            text NOT NULL CHECK (kind IN ('ALIAS', 'MERGE', 'RENAME')),
    namespace       text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    into_namespace  text COLLATE "C" NOT NULL,
    into_name       text COLLATE "C" NOT NULL,
    former_id       uuid,
    changed_by      text NOT NULL,
    reason          text NOT NULL,
    changed_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dataset_name_change_former ON catalog.dataset_name_change (former_id);

-- All that the events of a run say together; what is merged into it twice, or in another order, leaves it the same.
-- reported_run_id: the run's id as reported, which is unique within its job: of jobs that share one, the first to be
-- heard of has it as run_id, and the others an id that is computed from both.
CREATE TABLE catalog.openlineage_run (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    run_id          uuid NOT NULL,
    reported_run_id uuid NOT NULL,
    process_id      uuid NOT NULL REFERENCES catalog.process,
    document        jsonb NOT NULL,
    native          boolean NOT NULL,
    first_at        timestamptz NOT NULL,
    last_at         timestamptz NOT NULL,
    PRIMARY KEY (organisation_id, run_id)
);
CREATE UNIQUE INDEX openlineage_run_reported ON catalog.openlineage_run (organisation_id, reported_run_id, process_id);
CREATE INDEX openlineage_run_process ON catalog.openlineage_run (process_id, last_at DESC);
CREATE INDEX openlineage_run_last ON catalog.openlineage_run (last_at);

-- A dataset read or written by a run, under the reported name. version: the dataset's version as the run knew it.
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

-- The newest facet of each name that a dataset (by name_id) or a process has; one that was taken away keeps its row.
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

-- Who says where the columns of a dataset come from, in facet `via`, and when last: a row of column_lineage is current when
-- it was said then. reporter_id: the process, or the name_id of the dataset itself, where no run or job is named.
CREATE TABLE catalog.column_lineage_report (
    target_name_id  uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    reporter_id         uuid NOT NULL,
    via             text NOT NULL CHECK (via IN ('columnLineage', 'lineage')),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    process_id      uuid REFERENCES catalog.process,
    last_at         timestamptz NOT NULL,
    PRIMARY KEY (target_name_id, reporter_id, via)
);

-- One column is made from another. target_field '': all rows of the target depend on the source (a filter, a join).
-- source_field '': from the source as a whole. transformation_type: DIRECT, INDIRECT, or '' where nothing was said.
CREATE TABLE catalog.column_lineage (
    column_lineage_id          uuid PRIMARY KEY,
    organisation_id            uuid NOT NULL REFERENCES catalog.organisation,
    reporter_id                    uuid NOT NULL,
    process_id                 uuid REFERENCES catalog.process,
    target_name_id             uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    target_field               text NOT NULL,
    source_name_id             uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    source_field               text NOT NULL,
    via                        text NOT NULL CHECK (via IN ('columnLineage', 'lineage')),
    transformation_type        text NOT NULL,
    transformation_subtype     text NOT NULL,
    transformation_description text NOT NULL,
    masking                    boolean NOT NULL,
    run_id                     uuid,
    first_at                   timestamptz NOT NULL,
    last_at                    timestamptz NOT NULL
);
CREATE INDEX column_lineage_target ON catalog.column_lineage (target_name_id, reporter_id, via);
CREATE INDEX column_lineage_source ON catalog.column_lineage (source_name_id, target_name_id);

-- The result of a test of a dataset that a run reports. run_id: the run, or the event where there is none.
CREATE TABLE catalog.dataset_assertion (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    run_id          uuid NOT NULL,
    name_id         uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    assertion_key   text COLLATE "C" NOT NULL,
    assertion       text NOT NULL,
    column_name     text,
    success         boolean NOT NULL,
    severity        text,
    detail          jsonb NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (organisation_id, run_id, name_id, assertion_key)
);
CREATE INDEX dataset_assertion_name ON catalog.dataset_assertion (name_id, at DESC);

-- What a run measured of a dataset. columns: the measures of each column, as reported.
CREATE TABLE catalog.dataset_metrics (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    run_id          uuid NOT NULL,
    name_id         uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    row_count       numeric,
    byte_size       numeric,
    file_count      numeric,
    last_updated    timestamptz,
    columns         jsonb NOT NULL,
    at              timestamptz NOT NULL,
    digest          text COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, run_id, name_id)
);
CREATE INDEX dataset_metrics_name ON catalog.dataset_metrics (name_id, at DESC);

-- A pointer that a person has moved is not derived from the versions.
CREATE INDEX pointer_move_rollback ON catalog.pointer_move (dataset_id) WHERE kind = 'ROLLBACK';
