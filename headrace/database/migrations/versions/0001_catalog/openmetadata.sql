-- The synchronisation with OpenMetadata: what was sent, how far the catalog and the events there have been read, and
-- what stewards wrote there. server: the address of the API.

-- An entity or edge as last sent, so that it is only sent again when it has changed, and what others wrote is known as
-- theirs. key: of a table the dataset_id, of a pipeline the process_id, of others their name. parent: of an edge and a
-- test case, the key of its table. fqn, entity_id: there; a dataset that is renamed here keeps them. is_own: of an edge,
-- that it was not there before.
CREATE TABLE catalog.openmetadata_sent (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    server          text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    parent          text COLLATE "C" NOT NULL DEFAULT '',
    fqn             text NOT NULL,
    entity_id       uuid,
    sent            jsonb NOT NULL,
    digest          text COLLATE "C" NOT NULL,
    is_own          boolean NOT NULL DEFAULT true,
    is_deleted      boolean NOT NULL DEFAULT false,
    sent_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, server, kind, key)
);
CREATE INDEX openmetadata_sent_parent ON catalog.openmetadata_sent (organisation_id, server, parent) WHERE parent <> '';

-- transaction_id, outbox_id: the position in the outbox. read_at: versions and runs up to then have been sent. events_at:
-- of the newest event read there, in milliseconds.
CREATE TABLE catalog.openmetadata_position (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    server          text COLLATE "C" NOT NULL,
    transaction_id  bigint NOT NULL,
    outbox_id       bigint NOT NULL,
    read_at         timestamptz NOT NULL,
    events_at       bigint NOT NULL,
    PRIMARY KEY (organisation_id, server)
);

-- Events that its webhook delivered, until the next synchronisation reads what they are about.
CREATE TABLE catalog.openmetadata_event (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    event_id        uuid NOT NULL,
    entity_type     text NOT NULL,
    fqn             text NOT NULL,
    changed_by      text,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (organisation_id, event_id)
);

-- The last value that a steward wrote there, of a field of a dataset or of one of its columns ('' for the dataset).
-- outcome: KEPT there, or OVERWRITTEN by the declaration.
CREATE TABLE catalog.openmetadata_change (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset ON DELETE CASCADE,
    field           text COLLATE "C" NOT NULL,
    column_name     text COLLATE "C" NOT NULL DEFAULT '',
    value           jsonb NOT NULL,
    declared        jsonb NOT NULL,
    outcome         text NOT NULL CHECK (outcome IN ('KEPT', 'OVERWRITTEN')),
    changed_by      text,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, field, column_name)
);
