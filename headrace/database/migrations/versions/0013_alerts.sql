-- When a alert_event became, or was found not to become, an alert.
ALTER TABLE catalog.alert_event ADD COLUMN processed_at timestamptz;
CREATE INDEX alert_event_unprocessed ON catalog.alert_event (organisation_id, transaction_id, alert_event_id) WHERE processed_at IS NULL;

-- What is told about one incident, whose id it has, or about one alert_event that is none. severity, kind, at and facts are
-- of the worst alert_event so far. affected: the other subjects of the incident, with their owners.
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
    route           text,
    round           integer NOT NULL,
    event_count     integer NOT NULL,
    closed_at       timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text,
    comment         text
);
CREATE INDEX alert_newest ON catalog.alert (organisation_id, opened_at DESC, alert_id);
CREATE INDEX alert_current ON catalog.alert (organisation_id, opened_at DESC, alert_id) WHERE state <> 'CLOSED';
CREATE INDEX alert_subject ON catalog.alert (organisation_id, subject, opened_at DESC);

-- One alert to one recipient, once; a digest belongs to no alert. address: of a destination that is personal, whose.
CREATE TABLE catalog.notification (
    notification_id uuid PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    alert_id        uuid REFERENCES catalog.alert,
    destination     text COLLATE "C" NOT NULL,
    address         text COLLATE "C" NOT NULL,
    purpose         text NOT NULL CHECK (purpose IN ('RAISED', 'WORSENED', 'ESCALATED', 'RECOVERED', 'JOINED', 'DIGEST')),
    severity        text NOT NULL,
    step            integer NOT NULL,
    round           integer NOT NULL,
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

-- As before; what is told of a process is seen by who sees the process, and a message by who sees its alert.
CREATE OR REPLACE FUNCTION catalog.narrow_condition(of_table regclass) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text := (SELECT relname FROM pg_class WHERE oid = of_table);
    has  text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = of_table AND attnum > 0 AND NOT attisdropped);
BEGIN
    RETURN CASE
        WHEN name = 'organisation' THEN 'true'
        WHEN name = 'audit_entry' THEN 'false'  -- an entry may be about any domain
        WHEN name IN ('run_event', 'openlineage_run') THEN 'false'  -- what they hold names datasets of any domain
        WHEN name = 'dataset' THEN
            'catalog.domain_of(full_name) = ANY ((SELECT catalog.caller_domains())::text[]) '
            'OR full_name = ANY ((SELECT catalog.caller_datasets())::text[])'
        WHEN name = 'lineage_edge' THEN
            '(source_type <> ''DATASET'' OR EXISTS (SELECT FROM catalog.dataset seen WHERE seen.dataset_id = source_id)) '
            'AND (target_type <> ''DATASET'' OR EXISTS (SELECT FROM catalog.dataset seen WHERE seen.dataset_id = target_id))'
        WHEN name = 'process' THEN
            'EXISTS (SELECT FROM catalog.lineage_edge seen WHERE seen.process_id = process.process_id)'
        WHEN name = 'column_lineage' THEN
            'EXISTS (SELECT FROM catalog.dataset_name seen WHERE seen.name_id = target_name_id) '
            'AND EXISTS (SELECT FROM catalog.dataset_name seen WHERE seen.name_id = source_name_id)'
        WHEN name = 'column_lineage_report' THEN
            'EXISTS (SELECT FROM catalog.dataset_name seen WHERE seen.name_id = target_name_id)'
        WHEN name = 'facet' THEN
            'CASE subject_type WHEN ''DATASET'' '
            'THEN EXISTS (SELECT FROM catalog.dataset_name seen WHERE seen.name_id = subject_id) '
            'ELSE EXISTS (SELECT FROM catalog.process seen WHERE seen.process_id = subject_id) END'
        WHEN name IN ('alert', 'alert_event') THEN
            format('CASE WHEN process_id IS NULL '
                   'THEN EXISTS (SELECT FROM catalog.dataset seen WHERE seen.dataset_id = %1$I.dataset_id) '
                   'ELSE EXISTS (SELECT FROM catalog.process seen WHERE seen.process_id = %1$I.process_id) END', name)
        WHEN name = 'notification' THEN
            'EXISTS (SELECT FROM catalog.alert seen WHERE seen.alert_id = notification.alert_id)'
        WHEN 'dataset_id' = ANY (has) THEN
            format('EXISTS (SELECT FROM catalog.dataset seen WHERE seen.dataset_id = %I.dataset_id)', name)
        WHEN 'dataset_version_id' = ANY (has) THEN
            format('EXISTS (SELECT FROM catalog.dataset_version seen '
                   'WHERE seen.dataset_version_id = %I.dataset_version_id)', name)
        WHEN 'name_id' = ANY (has) THEN
            format('EXISTS (SELECT FROM catalog.dataset_name seen WHERE seen.name_id = %I.name_id)', name)
        WHEN 'process_id' = ANY (has) THEN
            format('EXISTS (SELECT FROM catalog.process seen WHERE seen.process_id = %I.process_id)', name)
        WHEN 'run_id' = ANY (has) THEN
            format('EXISTS (SELECT FROM catalog.process_run seen WHERE seen.run_id = %I.run_id)', name)
        ELSE 'false'
    END;
END $$;
