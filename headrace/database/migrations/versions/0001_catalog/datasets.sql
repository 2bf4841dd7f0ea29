-- Projects, datasets with their schemas, names and registrations, and the index of the search.

-- The projects that share the catalog, each in a repository of its own. dataset.project and process.project name the
-- one that declares the row. project_id: distinguishes projects of the same name; null if the project has none.
CREATE TABLE catalog.project (
    organisation_id  uuid NOT NULL REFERENCES catalog.organisation,
    name             text COLLATE "C" NOT NULL,
    project_id       uuid,
    platform_version text NOT NULL,
    registered_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, name)
);

-- The invalid declarations of a project when it was last loaded: file (relative to the project), line, field, message
-- and hint of each.
CREATE TABLE catalog.project_load (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    project         text COLLATE "C" NOT NULL,
    loaded_at       timestamptz NOT NULL DEFAULT now(),
    problems        jsonb NOT NULL,
    PRIMARY KEY (organisation_id, project)
);

-- partition_definition: how the partitions are made (type, start, time zone, ...), for projects that read the dataset.
-- column_tags: the tags of all columns, by which the search filters.
CREATE TABLE catalog.dataset (
    dataset_id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id      uuid NOT NULL REFERENCES catalog.organisation,
    namespace            text COLLATE "C" NOT NULL,
    name                 text COLLATE "C" NOT NULL,
    full_name            text COLLATE "C" NOT NULL,
    description          text,
    default_format       text NOT NULL,
    owners               text[] NOT NULL,
    tags                 jsonb NOT NULL,
    columns              jsonb NOT NULL,
    column_tags          jsonb NOT NULL GENERATED ALWAYS AS (jsonb_path_query_array(columns, '$[*].tags[*]')) STORED,
    partitions           text,
    status               text NOT NULL DEFAULT 'ACTIVE' CHECK (
        status IN ('DRAFT', 'ACTIVE', 'DEPRECATED', 'RETIRED')),
    metadata_json        jsonb NOT NULL,
    declared_at          text,
    declaration_hash     text NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    project              text COLLATE "C",
    partition_definition jsonb,
    UNIQUE (organisation_id, full_name)
);

-- One row for each column of each schema of a dataset; many versions share a schema.
CREATE TABLE catalog.dataset_schema (
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    schema_hash     text COLLATE "C" NOT NULL,
    column_order    integer NOT NULL,
    organisation_id uuid NOT NULL,
    column_name     text NOT NULL,
    column_type     text NOT NULL,
    nullable        boolean NOT NULL,
    column_metadata jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, schema_hash, column_order)
);

-- Every name of a dataset. name_id is computed from the name; the dataset first made for a name has that id, and is
-- found by it after a merge. reported: a run read or wrote the dataset by this name; false where an event only mentions
-- it. renamed: an event or a person replaced the name. preferred: a person chose it.
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

-- Decisions of people about names, which a rebuild repeats after the events. former_id: the dataset that was merged
-- into another, which is still found by it.
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

-- The retirements and deprecations of datasets; a deprecated one may be retired as well. retired_by: `project:NAME` if that
-- project no longer declared the dataset, restored_by if it declared it again.
CREATE TABLE catalog.dataset_retirement (
    retirement_id   uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    status          text NOT NULL DEFAULT 'RETIRED' CHECK (status IN ('DEPRECATED', 'RETIRED')),
    retired_by      text NOT NULL,
    reason          text NOT NULL,
    retired_at      timestamptz NOT NULL DEFAULT now(),
    restored_by     text,
    restore_reason  text,
    restored_at     timestamptz
);
CREATE UNIQUE INDEX dataset_retirement_current ON catalog.dataset_retirement (dataset_id, status) WHERE restored_at IS NULL;

-- requested: the dataset as requested, which an approval puts into force.
CREATE TABLE catalog.dataset_registration (
    reg_id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    submitted_by    text NOT NULL,
    submitted_at    timestamptz NOT NULL DEFAULT now(),
    status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED')),
    reviewer        text,
    review_comment  text,
    requested       jsonb NOT NULL DEFAULT '{}',
    objections      jsonb NOT NULL DEFAULT '[]', -- of gates: name, text, held
    reviewed_at     timestamptz
);
CREATE INDEX dataset_registration_dataset ON catalog.dataset_registration (dataset_id);
CREATE UNIQUE INDEX dataset_registration_pending ON catalog.dataset_registration (dataset_id) WHERE status = 'PENDING';
CREATE INDEX dataset_registration_newest
    ON catalog.dataset_registration (organisation_id, submitted_at DESC, reg_id DESC);

CREATE TABLE catalog.dataset_search (
    dataset_id      uuid PRIMARY KEY REFERENCES catalog.dataset ON DELETE CASCADE,
    organisation_id uuid NOT NULL,
    full_name       text COLLATE "C" NOT NULL,
    words           tsvector NOT NULL
);
CREATE INDEX dataset_search_words ON catalog.dataset_search USING gin (words);
CREATE INDEX dataset_search_name ON catalog.dataset_search (organisation_id, lower(full_name));

-- Every word of an organisation's datasets, with its keys in search_key. A word that no dataset has any more finds
-- nothing.
CREATE TABLE catalog.search_word (
    organisation_id uuid NOT NULL,
    word            text COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, word)
);

CREATE TABLE catalog.search_key (
    organisation_id uuid NOT NULL,
    key             text COLLATE "C" NOT NULL,
    word            text COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, key, word)
);
