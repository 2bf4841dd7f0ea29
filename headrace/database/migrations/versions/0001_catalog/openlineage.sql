-- The schemas of the OL_* views, and the version of their model.

CREATE TABLE catalog.openlineage_model_version (
    version_id               integer PRIMARY KEY,
    openlineage_spec_version text NOT NULL,
    schema_version           text NOT NULL,
    applied_at               timestamptz NOT NULL DEFAULT now(),
    description              text NOT NULL
);

INSERT INTO catalog.openlineage_model_version (version_id, openlineage_spec_version, schema_version, description)
VALUES (1, '2-0-2', '1.0.0', 'The OpenLineage views as first installed');

CREATE SCHEMA IF NOT EXISTS openlineage;

-- The OL_* views show rows of tables on which their reader has no right: they, and the views of openlineage_core below
-- them, read as their owner. They show the organisation of the session; without one they show nothing, except to the
-- platform itself.
CREATE SCHEMA openlineage_core;
