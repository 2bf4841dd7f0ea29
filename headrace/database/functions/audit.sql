-- The audit trail: append-only, filled by triggers.

ALTER TABLE catalog.audit_entry ALTER COLUMN subject SET DEFAULT catalog.caller_subject();

CREATE OR REPLACE FUNCTION catalog.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_audit_change();

-- Record the columns that a change affects, with the values before and after. The first argument names the column that
-- identifies the object; the others name columns that are not recorded.
CREATE OR REPLACE FUNCTION catalog.audit_change() RETURNS trigger LANGUAGE plpgsql SET search_path = catalog, pg_temp AS $$
DECLARE
    before jsonb := CASE TG_OP WHEN 'INSERT' THEN '{}'::jsonb ELSE to_jsonb(OLD) END;
    after  jsonb := to_jsonb(NEW);
    hidden text[] := TG_ARGV[1:] || ARRAY['updated_at', 'declaration_hash'];
BEGIN
    INSERT INTO audit_entry (organisation_id, action, object_type, object, detail, request_id)
    SELECT NEW.organisation_id, 'CHANGED', upper(TG_TABLE_NAME), after ->> TG_ARGV[0],
           jsonb_object_agg(key, CASE TG_OP WHEN 'INSERT' THEN after -> key
                                 ELSE jsonb_build_array(before -> key, after -> key) END),
           nullif(current_setting('headrace.request_id', true), '')
    FROM jsonb_object_keys(after) AS key
    WHERE after -> key IS DISTINCT FROM before -> key
      AND key <> ALL (hidden) AND key <> 'organisation_id'
      AND jsonb_typeof(after -> key) IS DISTINCT FROM CASE TG_OP WHEN 'INSERT' THEN 'null' END
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR UPDATE ON catalog.access_grant
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('subject');

CREATE OR REPLACE TRIGGER audit_issue AFTER INSERT ON catalog.service_token
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('name', 'secret_digest');

CREATE OR REPLACE TRIGGER audit_change AFTER UPDATE ON catalog.service_token
    FOR EACH ROW WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
    EXECUTE FUNCTION catalog.audit_change('name', 'secret_digest', 'last_used_at');

CREATE OR REPLACE TRIGGER audit_change AFTER UPDATE ON catalog.dataset
    FOR EACH ROW WHEN ((OLD.full_name, OLD.owners, OLD.status, OLD.tags, OLD.columns)
                       IS DISTINCT FROM (NEW.full_name, NEW.owners, NEW.status, NEW.tags, NEW.columns))
    EXECUTE FUNCTION catalog.audit_change('full_name');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR UPDATE ON catalog.dataset_registration
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT ON catalog.dataset_name_change
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('name');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR UPDATE ON catalog.dataset_pin
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR UPDATE ON catalog.dataset_retirement
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT ON catalog.erasure
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_rollback AFTER INSERT ON catalog.pointer_move
    FOR EACH ROW WHEN (NEW.kind = 'ROLLBACK') EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR UPDATE ON catalog.cleared_column
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER UPDATE ON catalog.sensitivity_suggestion
    FOR EACH ROW WHEN (OLD.status <> NEW.status)
    EXECUTE FUNCTION catalog.audit_change('dataset_id');

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT ON catalog.planned_outage
    FOR EACH ROW EXECUTE FUNCTION catalog.audit_change('subjects');

CREATE OR REPLACE TRIGGER audit_acknowledgement AFTER UPDATE ON catalog.alert
    FOR EACH ROW WHEN (OLD.acknowledged_by IS DISTINCT FROM NEW.acknowledged_by)
    EXECUTE FUNCTION catalog.audit_change('subject', 'facts', 'affected', 'breaches');
