-- Lineage edges between datasets and processes, column lineage, and columns marked as safe to display.

-- Edges have the direction of the data. An edge that ended keeps its row, with valid_to.
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
-- Lineage is read from the indexes alone: they include the organisation, process and times of an edge.
CREATE INDEX lineage_edge_source ON catalog.lineage_edge (source_id, edge_role, target_id)
    INCLUDE (organisation_id, process_id, valid_from, valid_to);
CREATE INDEX lineage_edge_target ON catalog.lineage_edge (target_id, edge_role, source_id)
    INCLUDE (organisation_id, process_id, valid_from, valid_to);
CREATE INDEX lineage_edge_process ON catalog.lineage_edge (process_id);

-- When a process last reported where the columns of a dataset come from, in the facet `via` or by the `plan` of a run:
-- a row of column_lineage is current if it was reported then. reporter_id: the process, or the name_id of the dataset
-- itself where the event names no run and no job.
CREATE TABLE catalog.column_lineage_report (
    target_name_id  uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    reporter_id     uuid NOT NULL,
    via             text NOT NULL CHECK (via IN ('columnLineage', 'lineage', 'plan')),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    process_id      uuid REFERENCES catalog.process,
    last_at         timestamptz NOT NULL,
    lineage_hash    text COLLATE "C",
    PRIMARY KEY (target_name_id, reporter_id, via)
);

-- One column is made from another. target_field '': all rows of the target depend on the source (a filter, a join).
-- source_field '': from the source as a whole. transformation_type: DIRECT, INDIRECT, or '' where it was not reported.
-- Rows with via `plan` are of published versions and do not come from events; each holds from first_at to last_at
-- without a gap, and a source that returns gets a new row. A column of unknown lineage has a row for each possible
-- source, with the transformation_subtype UNKNOWN and the reason as description.
CREATE TABLE catalog.column_lineage (
    column_lineage_id          uuid PRIMARY KEY,
    organisation_id            uuid NOT NULL REFERENCES catalog.organisation,
    reporter_id                uuid NOT NULL,
    process_id                 uuid REFERENCES catalog.process,
    target_name_id             uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    target_field               text NOT NULL,
    source_name_id             uuid NOT NULL REFERENCES catalog.dataset_name (name_id),
    source_field               text NOT NULL,
    via                        text NOT NULL CHECK (via IN ('columnLineage', 'lineage', 'plan')),
    transformation_type        text NOT NULL,
    transformation_subtype     text NOT NULL,
    transformation_description text NOT NULL,
    masking                    boolean NOT NULL,
    run_id                     uuid,
    first_at                   timestamptz NOT NULL,
    last_at                    timestamptz NOT NULL,
    confidence                 real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    origin                     text NOT NULL DEFAULT 'REPORTED' CHECK (origin IN ('PLAN', 'SQL', 'DECLARED', 'REPORTED'))
);
CREATE INDEX column_lineage_target ON catalog.column_lineage (target_name_id, reporter_id, via);
CREATE INDEX column_lineage_source ON catalog.column_lineage (source_name_id, target_name_id);
CREATE INDEX column_lineage_process ON catalog.column_lineage (process_id);

-- Column lineage from the plan of a run. A version refers to it by hash, as to its schema; most versions of a dataset
-- share it.
CREATE TABLE catalog.dataset_lineage (
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    lineage_hash    text COLLATE "C" NOT NULL,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    content         jsonb NOT NULL,
    column_count    integer NOT NULL,
    known_count     integer NOT NULL CHECK (known_count BETWEEN 0 AND column_count),
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, lineage_hash)
);

-- The columns whose values flow into the columns of a lineage, or may (certain = false): its direct sources without the
-- masked ones, by column. source_column '': any column of the source. A wide lineage has thousands of rows, so
-- that references are not checked for each: the names stay as long as a flow has them (retention/sql/rebuild/clear_names.sql).
CREATE TABLE catalog.lineage_flow (
    dataset_id      uuid NOT NULL,
    lineage_hash    text COLLATE "C" NOT NULL,
    source_name_id  uuid NOT NULL,
    source_column   text NOT NULL,
    target_column   text NOT NULL,
    certain         boolean NOT NULL,
    organisation_id uuid NOT NULL,
    PRIMARY KEY (dataset_id, lineage_hash, source_name_id, source_column, target_column, certain)
);

-- What the values of a version come from: its own lineage, and the provenances of the exact versions that it was made
-- from. Versions with the same lineage and the same set of lineages above it share one, so that a dataset has few, even
-- if each version reads the one before. lineages: the set, as hashes of dataset_id and lineage_hash.
CREATE TABLE catalog.provenance (
    provenance_id   uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    lineage_hash    text COLLATE "C" NOT NULL,
    lineages        uuid[] NOT NULL
);
CREATE INDEX provenance_dataset ON catalog.provenance (dataset_id);

-- A source of the lineage, with the provenance of the versions of it that were read; null: unknown, such as a path.
CREATE TABLE catalog.provenance_input (
    provenance_id       uuid NOT NULL REFERENCES catalog.provenance,
    source_name_id      uuid NOT NULL,
    input_provenance_id uuid REFERENCES catalog.provenance,
    organisation_id     uuid NOT NULL REFERENCES catalog.organisation
);
CREATE UNIQUE INDEX provenance_input_once
    ON catalog.provenance_input (provenance_id, source_name_id, input_provenance_id) NULLS NOT DISTINCT;

-- An owner marked a column as safe to display, although it is made from a sensitive one, until withdrawn_at. It holds
-- for the sources that it was judged on, the sensitive columns that the values come from: dataset_id:column. Rows are
-- kept.
CREATE TABLE catalog.cleared_column (
    clearing_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    column_name     text NOT NULL,
    cleared_by      text NOT NULL,
    reason          text NOT NULL CHECK (reason <> ''),
    sources         text[] NOT NULL,
    cleared_at      timestamptz NOT NULL DEFAULT now(),
    withdrawn_by    text,
    withdrawn_at    timestamptz
);
CREATE UNIQUE INDEX cleared_column_current ON catalog.cleared_column (dataset_id, column_name) WHERE withdrawn_at IS NULL;

-- A column that may have personal data, by its name or by a sample of its values, of which nothing is stored: kind and
-- reason are in words, confidence is from 0 to 1. An accepted one is sensitive, whatever its declaration says.
CREATE TABLE catalog.sensitivity_suggestion (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    column_name     text COLLATE "C" NOT NULL,
    kind            text NOT NULL,
    confidence      double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    reason          text NOT NULL,
    suggested_at    timestamptz NOT NULL DEFAULT now(),
    status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'ACCEPTED', 'DISMISSED')),
    decided_by      text,
    decided_at      timestamptz,
    note            text,
    PRIMARY KEY (dataset_id, column_name),
    CHECK ((status = 'PENDING') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL))
);

-- When a sample of a dataset was last looked at for personal data.
CREATE TABLE catalog.personal_data_look (
    dataset_id      uuid PRIMARY KEY REFERENCES catalog.dataset,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    looked_at       timestamptz NOT NULL
);
