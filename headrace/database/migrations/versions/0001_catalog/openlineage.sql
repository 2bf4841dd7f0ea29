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

-- The OL_* views tell what their reader may know of tables in which everything is, and on which he has no right: they, and
-- those below them, read as their owner. They keep to the organisation that the session names; without one they show
-- nothing, but to the platform itself.
CREATE SCHEMA openlineage_core;
