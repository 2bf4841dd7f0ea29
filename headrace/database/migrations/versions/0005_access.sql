-- A role of a subject (`user:alice`) in a domain, `*` for every one, until it is revoked.
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

-- A program's token. Only the digest of its secret is kept.
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

-- What one run may say of itself. outputs, inputs: keys of datasets.
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

-- Who is at work: what the service sets at the beginning of each transaction, and without it whom the session belongs to.
CREATE FUNCTION catalog.caller_subject() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('headrace.subject', true), ''), 'database:' || session_user)
$$;
CREATE FUNCTION catalog.caller_organisation() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('headrace.organisation_id', true), '')::uuid
$$;
CREATE FUNCTION catalog.caller_sees_all() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(current_setting('headrace.domains', true), '') = '*'
$$;
CREATE FUNCTION catalog.caller_domains() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(current_setting('headrace.domains', true), '') NOT IN ('', '*') THEN
        ARRAY(SELECT jsonb_array_elements_text(current_setting('headrace.domains', true)::jsonb))
    ELSE '{}' END
$$;
CREATE FUNCTION catalog.caller_datasets() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(current_setting('headrace.datasets', true), '') <> '' THEN
        ARRAY(SELECT jsonb_array_elements_text(current_setting('headrace.datasets', true)::jsonb))
    ELSE '{}' END
$$;
CREATE FUNCTION catalog.domain_of(dataset_key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(dataset_key, '#') > 0 THEN split_part(dataset_key, '#', 1)
    WHEN strpos(dataset_key, '://') = 0 THEN split_part(dataset_key, '/', 1)
    ELSE split_part(dataset_key, '://', 1) || '://'
         || split_part(substr(dataset_key, strpos(dataset_key, '://') + 3), '/', 1) END
$$;
-- For functions that look past row-level security (SECURITY DEFINER), beside caller_organisation().
CREATE FUNCTION catalog.caller_sees(dataset_key text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT catalog.caller_sees_all()
        OR catalog.domain_of(dataset_key) = ANY (catalog.caller_domains())
        OR dataset_key = ANY (catalog.caller_datasets())
$$;

-- Who changed, and who read what is sensitive. Rows are never changed. subject and at are what the session says, since the
-- service may not write these columns.
CREATE TABLE catalog.audit_entry (
    audit_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    subject         text COLLATE "C" NOT NULL DEFAULT catalog.caller_subject(),
    action          text NOT NULL CHECK (action IN ('CHANGED', 'READ')),
    object_type     text COLLATE "C" NOT NULL,
    object          text COLLATE "C" NOT NULL,
    detail          jsonb NOT NULL,
    request_id      text
);
CREATE INDEX audit_entry_newest ON catalog.audit_entry (organisation_id, audit_id DESC);
CREATE INDEX audit_entry_subject ON catalog.audit_entry (organisation_id, subject, audit_id DESC);
CREATE INDEX audit_entry_object ON catalog.audit_entry (organisation_id, object, audit_id DESC);

CREATE FUNCTION catalog.keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is not changed' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.keep_audit_entry();

-- Notes the columns that a change has changed, before and after. The first argument names the column that says what was
-- changed; others name columns that are not written down.
CREATE FUNCTION catalog.note_change() RETURNS trigger LANGUAGE plpgsql SET search_path = catalog, pg_temp AS $$
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
-- Who sent an event; null for those of the platform itself.
ALTER TABLE catalog.run_event ADD COLUMN reported_by text COLLATE "C";
ALTER TABLE catalog.run_event
    ALTER COLUMN reported_by SET DEFAULT nullif(current_setting('headrace.subject', true), '');

CREATE TRIGGER note_change AFTER INSERT OR UPDATE ON catalog.access_grant
    FOR EACH ROW EXECUTE FUNCTION catalog.note_change('subject');
CREATE TRIGGER note_issue AFTER INSERT ON catalog.service_token
    FOR EACH ROW EXECUTE FUNCTION catalog.note_change('name', 'secret_digest');
CREATE TRIGGER note_change AFTER UPDATE ON catalog.service_token
    FOR EACH ROW WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
    EXECUTE FUNCTION catalog.note_change('name', 'secret_digest', 'last_used_at');
CREATE TRIGGER note_change AFTER UPDATE ON catalog.dataset
    FOR EACH ROW WHEN ((OLD.full_name, OLD.owners, OLD.status, OLD.tags, OLD.columns)
                       IS DISTINCT FROM (NEW.full_name, NEW.owners, NEW.status, NEW.tags, NEW.columns))
    EXECUTE FUNCTION catalog.note_change('full_name');
CREATE TRIGGER note_change AFTER INSERT OR UPDATE ON catalog.dataset_registration
    FOR EACH ROW EXECUTE FUNCTION catalog.note_change('dataset_id');

-- A run that has ended has no more to say; what it said last may still be on its way.
CREATE FUNCTION catalog.end_task_tokens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    UPDATE task_token SET expires_at = now() + interval '30 seconds'
    WHERE run_id = NEW.run_id AND organisation_id = NEW.organisation_id AND expires_at > now() + interval '30 seconds';
    RETURN NULL;
END $$;
CREATE TRIGGER end_task_tokens AFTER INSERT OR UPDATE OF status ON catalog.process_run
    FOR EACH ROW WHEN (NEW.status NOT IN ('RUNNING', 'QUEUED', 'HELD'))
    EXECUTE FUNCTION catalog.end_task_tokens();

-- Which rows of a table a caller with some domains only sees, by what its columns say they belong to. `name_id` is of a
-- name that a dataset has elsewhere.
CREATE FUNCTION catalog.narrow_condition(of_table regclass) RETURNS text LANGUAGE plpgsql STABLE AS $$
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

-- Keeps every table of the catalog to the caller's organisation, and every view to what its reader may see of the tables
-- below it. What is protected already is left alone. The roles have no login: the service changes into them for the length
-- of a transaction. Where they cannot be made, callers see nothing, and the platform's own work is as it was.
CREATE FUNCTION catalog.protect() RETURNS void LANGUAGE plpgsql SET search_path = catalog, pg_temp AS $$
DECLARE
    roles text[] := ARRAY['headrace_caller', 'headrace_narrow_caller'];
    closed text[] := ARRAY['access_grant', 'service_token', 'task_token'];
    wanted text; condition text; found record;
BEGIN
    FOREACH wanted IN ARRAY roles LOOP
        BEGIN
            IF to_regrole(wanted) IS NULL THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            END IF;
            IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
                EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
            END IF;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;  -- made for another database of this server just now
            WHEN insufficient_privilege THEN NULL;
        END;
    END LOOP;
    FOR found IN
        SELECT class.oid::regclass AS name, class.relname, class.relrowsecurity
        FROM pg_class class
        WHERE class.relnamespace = 'catalog'::regnamespace AND class.relkind IN ('r', 'p') AND NOT class.relispartition
          AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = class.oid AND attname = 'organisation_id')
        ORDER BY class.relname
    LOOP
        IF NOT found.relrowsecurity THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', found.name);
        END IF;
        CONTINUE WHEN found.relname = ANY (closed);
        FOREACH wanted IN ARRAY roles LOOP
            CONTINUE WHEN to_regrole(wanted) IS NULL;
            IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = found.name AND polname = wanted) THEN
                condition := CASE wanted WHEN 'headrace_caller' THEN 'true' ELSE narrow_condition(found.name) END;
                EXECUTE format(
                    'CREATE POLICY %1$I ON %2$s TO %1$I '
                    'USING (organisation_id = (SELECT catalog.caller_organisation()) AND (%3$s)) '
                    'WITH CHECK (organisation_id = (SELECT catalog.caller_organisation()) AND (%4$s))',
                    wanted, found.name, condition,
                    -- What follows from a change (an event, a row of the outbox) is written, and not seen.
                    CASE condition WHEN 'false' THEN 'true' ELSE condition END
                );
            END IF;
            IF found.relname = 'audit_entry' THEN
                EXECUTE format('GRANT SELECT, INSERT (organisation_id, action, object_type, object, detail, request_id) '
                               'ON %s TO %I', found.name, wanted);
            ELSE
                EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', found.name, wanted);
            END IF;
        END LOOP;
    END LOOP;
    FOR found IN
        SELECT oid::regclass AS name, coalesce(reloptions, '{}') @> '{security_invoker=true}' AS invoker
        FROM pg_class WHERE relnamespace = 'catalog'::regnamespace AND relkind = 'v'
    LOOP
        IF NOT found.invoker THEN
            EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', found.name);
        END IF;
        FOREACH wanted IN ARRAY roles LOOP
            CONTINUE WHEN to_regrole(wanted) IS NULL;
            EXECUTE format('GRANT SELECT ON %s TO %I', found.name, wanted);
        END LOOP;
    END LOOP;
    FOREACH wanted IN ARRAY roles LOOP
        CONTINUE WHEN to_regrole(wanted) IS NULL;
        EXECUTE format('GRANT USAGE ON SCHEMA catalog TO %I', wanted);
        EXECUTE format('GRANT SELECT ON catalog.alembic_version TO %I', wanted);
        EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA catalog TO %I', wanted);
    END LOOP;
    -- It makes tables, which only their owner may.
    ALTER FUNCTION catalog.make_partitions(timestamptz, integer) SECURITY DEFINER SET search_path = catalog, pg_temp;
END $$;
