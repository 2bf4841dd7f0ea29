-- Several projects, each in a repository of its own, may share a catalog: which one declares a dataset or process.

CREATE TABLE catalog.project (
    organisation_id  uuid NOT NULL REFERENCES catalog.organisation,
    name             text COLLATE "C" NOT NULL,
    platform_version text NOT NULL,
    registered_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, name)
);

ALTER TABLE catalog.dataset ADD COLUMN project text COLLATE "C";
-- What makes the partitions of a dataset (type, start, time zone, ...), for projects that read it.
ALTER TABLE catalog.dataset ADD COLUMN partition_definition jsonb;
ALTER TABLE catalog.process ADD COLUMN project text COLLATE "C";

SELECT catalog.protect();
