-- Declared checks, their results, and the assertions and metrics that runs report.

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

-- The quality score of a dataset at its last result of a check or deadline, by which lists are filtered.
CREATE TABLE catalog.dataset_quality (
    dataset_id      uuid PRIMARY KEY REFERENCES catalog.dataset ON DELETE CASCADE,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    score           integer NOT NULL CHECK (score BETWEEN 0 AND 100),
    band            text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN score >= 90 THEN '90-100' WHEN score >= 70 THEN '70-89' ELSE '0-69' END) STORED,
    scored_at       timestamptz NOT NULL
);
CREATE INDEX dataset_quality_band ON catalog.dataset_quality (organisation_id, band, dataset_id);

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
