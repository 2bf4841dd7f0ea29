-- The sketches of a version's columns, from which profiles of many versions are merged; what they show of the version
-- itself is in its statistics. No sensitive column has a row. Sketches are the bytes of Apache DataSketches.
-- sampled: of a sample of the version's rows. row_count: of the rows that the sketches are of.
CREATE TABLE catalog.column_sketch (
    dataset_version_id uuid NOT NULL REFERENCES catalog.dataset_version ON DELETE CASCADE DEFERRABLE,
    column_name        text COLLATE "C" NOT NULL,
    organisation_id    uuid NOT NULL,
    type               text NOT NULL,
    row_count          bigint NOT NULL,
    null_count         bigint NOT NULL,
    sampled            boolean NOT NULL,
    total              double precision,
    shortest           integer,
    longest            integer,
    characters         bigint,
    distinct_sketch    bytea,
    quantile_sketch    bytea,
    frequent_sketch    bytea,
    pattern_sketch     bytea,
    PRIMARY KEY (dataset_version_id, column_name)
);
