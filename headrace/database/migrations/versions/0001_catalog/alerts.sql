-- Alert events, the alerts made from them, and notifications.

-- Events to alert on, stored in the transaction of the change; read in the order (transaction_id, alert_event_id).
-- processed_at: when the event became an alert, or was found not to need one.
CREATE TABLE catalog.alert_event (
    alert_event_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL,
    transaction_id  bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    kind            text COLLATE "C" NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    subject_type    text NOT NULL CHECK (subject_type IN ('DATASET', 'PROCESS', 'SENSOR')),
    subject         text COLLATE "C" NOT NULL,
    dataset_id      uuid,
    process_id      uuid,
    owners          text[] NOT NULL,
    incident_id     uuid,
    at              timestamptz NOT NULL,
    detected_at     timestamptz NOT NULL,
    facts           jsonb NOT NULL,
    processed_at    timestamptz
);
CREATE INDEX alert_event_incident ON catalog.alert_event (incident_id) WHERE incident_id IS NOT NULL;
CREATE INDEX alert_event_subject ON catalog.alert_event (organisation_id, subject, at DESC);
-- Finds events that exist already, so that each is stored once.
CREATE INDEX alert_event_process ON catalog.alert_event (process_id, kind, at);
CREATE INDEX alert_event_unprocessed ON catalog.alert_event (organisation_id, transaction_id, alert_event_id)
    WHERE processed_at IS NULL;

-- The alert of an incident, whose id it has, or of an event without an incident. severity, kind, at and facts are those
-- of the worst event so far. affected: the other subjects of the incident, with their owners. breaches: the last broken
-- deadline of each objective. next_at: when it is decided on again. acknowledged_until: NULL: as long as alerts.yaml says.
-- acknowledgements: their history.
CREATE TABLE catalog.alert (
    alert_id        uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    incident_id     uuid REFERENCES catalog.incident,
    subject_type    text NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    dataset_id      uuid REFERENCES catalog.dataset,
    process_id      uuid REFERENCES catalog.process,
    owners          text[] NOT NULL,
    kind            text NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    state           text NOT NULL CHECK (state IN ('OPEN', 'ACKNOWLEDGED', 'CLOSED')),
    at              timestamptz NOT NULL,
    opened_at       timestamptz NOT NULL,
    facts           jsonb NOT NULL,
    affected        jsonb NOT NULL,
    breaches        jsonb NOT NULL DEFAULT '[]',
    route           text,
    round           integer NOT NULL,
    event_count     integer NOT NULL,
    next_at         timestamptz,
    closed_at       timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text,
    acknowledged_until timestamptz,
    comment         text,
    acknowledgements jsonb NOT NULL DEFAULT '[]'
);
CREATE INDEX alert_newest ON catalog.alert (organisation_id, opened_at DESC, alert_id);
CREATE INDEX alert_current ON catalog.alert (organisation_id, opened_at DESC, alert_id) WHERE state <> 'CLOSED';
CREATE INDEX alert_subject ON catalog.alert (organisation_id, subject, opened_at DESC);

-- One delivery of an alert to one recipient; a digest has no alert. address: the recipient of a personal destination.
-- subjects: the datasets whose broken deadlines it is about; empty: the alert's subject.
CREATE TABLE catalog.notification (
    notification_id uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    alert_id        uuid REFERENCES catalog.alert,
    destination     text COLLATE "C" NOT NULL,
    address         text COLLATE "C" NOT NULL,
    purpose         text NOT NULL CHECK (
        purpose IN ('RAISED', 'WORSENED', 'ESCALATED', 'REPEATED', 'BREACHED', 'HANDED_OVER', 'RECOVERED', 'UNDELIVERED',
                    'JOINED', 'DIGEST')),
    severity        text NOT NULL,
    step            integer NOT NULL,
    round           integer NOT NULL,
    subjects        text[] NOT NULL DEFAULT '{}',
    state           text NOT NULL CHECK (state IN ('PENDING', 'SENT', 'DROPPED', 'MERGED', 'FAILED')),
    due_at          timestamptz NOT NULL,
    decided_at      timestamptz NOT NULL,
    tries           integer NOT NULL,
    next_try_at     timestamptz NOT NULL,
    sent_at         timestamptz,
    reason          text,
    digest_id       uuid REFERENCES catalog.notification,
    title           text,
    body            text
) WITH (fillfactor = 80);
CREATE INDEX notification_due ON catalog.notification (organisation_id, next_try_at) WHERE state = 'PENDING';
CREATE INDEX notification_alert ON catalog.notification (alert_id);
CREATE INDEX notification_sent ON catalog.notification (organisation_id, destination, address, sent_at)
    WHERE sent_at IS NOT NULL;
CREATE INDEX notification_digest ON catalog.notification (digest_id) WHERE digest_id IS NOT NULL;
