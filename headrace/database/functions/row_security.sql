-- Row-level security: the roles, policies and grants of callers.

-- Return the rows of a table that a caller with some domains only may see, as a condition on its columns. `name_id` is
-- the name of a dataset elsewhere.
CREATE OR REPLACE FUNCTION catalog.narrow_condition(of_table regclass) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text := (SELECT relname FROM pg_class WHERE oid = of_table);
    has  text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = of_table AND attnum > 0 AND NOT attisdropped);
BEGIN
    RETURN CASE
        WHEN name = 'organisation' THEN 'true'
        WHEN name = 'audit_entry' THEN 'false'  -- an entry may be about any domain
        WHEN name IN ('run_event', 'openlineage_run') THEN 'false'  -- their content names datasets of any domain
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
        WHEN ARRAY['dataset_id', 'process_id'] <@ has THEN  -- a row is about one or the other
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

-- Restrict every table of the catalog to the caller's organisation, and every view to what its reader may see of the
-- tables below it. A policy whose condition changed is replaced. The roles have no login: the service changes into them
-- for a transaction. Where they cannot be made, callers see nothing, and the platform works as before.
CREATE OR REPLACE FUNCTION catalog.protect() RETURNS void LANGUAGE plpgsql SET search_path = catalog, pg_temp AS $$
DECLARE
    roles text[] := ARRAY['headrace_caller', 'headrace_narrow_caller'];
    closed text[] := ARRAY['access_grant', 'page_session', 'saved_link', 'service_token', 'task_token'];
    wanted text; condition text; policy text; digest text; found record;
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
            WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of this server has just made it
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
            condition := CASE wanted WHEN 'headrace_caller' THEN 'true' ELSE narrow_condition(found.name) END;
            policy := format(
                'CREATE POLICY %1$I ON %2$s TO %1$I '
                'USING (organisation_id = (SELECT catalog.caller_organisation()) AND (%3$s)) '
                'WITH CHECK (organisation_id = (SELECT catalog.caller_organisation()) AND (%4$s))',
                wanted, found.name, condition,
                -- A change also writes rows that the caller may not read (an event, a row of the outbox).
                CASE condition WHEN 'false' THEN 'true' ELSE condition END
            );
            -- To replace a policy locks its table against readers, so that an equal one stays. PostgreSQL keeps the
            -- condition as a tree and not as text: the comment has the digest of the text.
            digest := encode(sha256(convert_to(policy, 'UTF8')), 'hex');
            IF NOT EXISTS (
                SELECT FROM pg_policy
                WHERE polrelid = found.name AND polname = wanted AND obj_description(oid, 'pg_policy') = digest
            ) THEN
                EXECUTE format('DROP POLICY IF EXISTS %I ON %s', wanted, found.name);
                EXECUTE policy;
                EXECUTE format('COMMENT ON POLICY %I ON %s IS %L', wanted, found.name, digest);
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
        EXECUTE format('GRANT SELECT ON catalog.alembic_version, catalog.repeatable_script TO %I', wanted);
        EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA catalog TO %I', wanted);
    END LOOP;
END $$;
