-- Organisations, who may do what in them, the audit trail, and the answers to requests with an Idempotency-Key. In all
-- tables, keys, tags and partition keys have the collation C: they sort by bytes, on every server alike.

CREATE TABLE catalog.organisation (
    organisation_id uuid PRIMARY KEY,
    name            text NOT NULL UNIQUE,
    created_at      timestamptz NOT NULL DEFAULT now()
);

-- A role of a subject (`user:alice`) in a domain (`*`: in all of them), until it is revoked.
CREATE TABLE catalog.access_grant (
    grant_id        uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject         text COLLATE "C" NOT NULL,
    role            text NOT NULL CHECK (role IN ('PLATFORM_ADMIN', 'DATA_STEWARD', 'DATA_OWNER', 'DATA_CONSUMER')),
    domain          text COLLATE "C" NOT NULL CHECK (role <> 'PLATFORM_ADMIN' OR domain = '*'),
    granted_by      text NOT NULL,
    granted_at      timestamptz NOT NULL DEFAULT now(),
    revoked_by      text,
    revoked_at      timestamptz
);
CREATE UNIQUE INDEX access_grant_current ON catalog.access_grant (subject, organisation_id, role, domain)
    WHERE revoked_at IS NULL;

-- A token of a service. Only the digest of its secret is stored.
CREATE TABLE catalog.service_token (
    token_id        uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    name            text COLLATE "C" NOT NULL,
    domain          text COLLATE "C" NOT NULL,
    permissions     text[] NOT NULL,
    secret_digest   bytea NOT NULL,
    issued_by       text NOT NULL,
    issued_at       timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    last_used_at    timestamptz,
    revoked_by      text,
    revoked_at      timestamptz
);
CREATE UNIQUE INDEX service_token_current ON catalog.service_token (organisation_id, name) WHERE revoked_at IS NULL;

-- A session of a browser on the pages. Only the digest of its cookie is stored. role: chosen at a development sign-in, in
-- place of the subject's grants.
CREATE TABLE catalog.page_session (
    digest          bytea PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject         text COLLATE "C" NOT NULL,
    role            text CHECK (role IN ('PLATFORM_ADMIN', 'DATA_STEWARD', 'DATA_OWNER', 'DATA_CONSUMER')),
    opened_at       timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL
);
CREATE INDEX page_session_expired ON catalog.page_session (expires_at);

-- Links to pages that a user has saved, such as a search with filters. address: path and query.
CREATE TABLE catalog.saved_link (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject         text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    address         text NOT NULL,
    saved_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, subject, name)
);

-- A token with which one run reports. outputs, inputs: keys of datasets.
CREATE TABLE catalog.task_token (
    token_id        uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    run_id          uuid NOT NULL,
    outputs         text[] NOT NULL,
    inputs          text[] NOT NULL,
    secret_digest   bytea NOT NULL,
    issued_by       text NOT NULL,
    issued_at       timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL
);
CREATE INDEX task_token_run ON catalog.task_token (run_id);
CREATE INDEX task_token_expired ON catalog.task_token (expires_at);

-- Changes, and reads of sensitive values, by subject. Append-only. subject and at have defaults from the session, since
-- callers may not write these columns.
CREATE TABLE catalog.audit_entry (
    audit_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    subject         text COLLATE "C" NOT NULL,
    action          text NOT NULL CHECK (action IN ('CHANGED', 'READ')),
    object_type     text COLLATE "C" NOT NULL,
    object          text COLLATE "C" NOT NULL,
    detail          jsonb NOT NULL,
    request_id      text
);
CREATE INDEX audit_entry_newest ON catalog.audit_entry (organisation_id, audit_id DESC);
CREATE INDEX audit_entry_subject ON catalog.audit_entry (organisation_id, subject, audit_id DESC);
CREATE INDEX audit_entry_object ON catalog.audit_entry (organisation_id, object, audit_id DESC);

-- The answer to a request with an Idempotency-Key; a repeated request gets the same.
CREATE TABLE catalog.answered_request (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject         text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_hash    text COLLATE "C" NOT NULL,
    status          integer NOT NULL,
    answer          jsonb NOT NULL,
    answered_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, subject, idempotency_key)
);
CREATE INDEX answered_request_age ON catalog.answered_request (answered_at);
