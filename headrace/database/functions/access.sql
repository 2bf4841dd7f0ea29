-- The caller of the session, the expiry of task tokens, and stored answers.

-- Return the subject of the session: set by the service at the beginning of each transaction, otherwise the database
-- user.
CREATE OR REPLACE FUNCTION catalog.caller_subject() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('headrace.subject', true), ''), 'database:' || session_user)
$$;

CREATE OR REPLACE FUNCTION catalog.caller_organisation() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('headrace.organisation_id', true), '')::uuid
$$;

CREATE OR REPLACE FUNCTION catalog.caller_sees_all() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(current_setting('headrace.domains', true), '') = '*'
$$;

CREATE OR REPLACE FUNCTION catalog.caller_domains() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(current_setting('headrace.domains', true), '') NOT IN ('', '*') THEN
        ARRAY(SELECT jsonb_array_elements_text(current_setting('headrace.domains', true)::jsonb))
    ELSE '{}' END
$$;

CREATE OR REPLACE FUNCTION catalog.caller_datasets() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(current_setting('headrace.datasets', true), '') <> '' THEN
        ARRAY(SELECT jsonb_array_elements_text(current_setting('headrace.datasets', true)::jsonb))
    ELSE '{}' END
$$;

CREATE OR REPLACE FUNCTION catalog.domain_of(dataset_key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(dataset_key, '#') > 0 THEN split_part(dataset_key, '#', 1)
    WHEN strpos(dataset_key, '://') = 0 THEN split_part(dataset_key, '/', 1)
    ELSE split_part(dataset_key, '://', 1) || '://'
         || split_part(substr(dataset_key, strpos(dataset_key, '://') + 3), '/', 1) END
$$;

-- For functions that bypass row-level security (SECURITY DEFINER), together with caller_organisation().
CREATE OR REPLACE FUNCTION catalog.caller_sees(dataset_key text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT catalog.caller_sees_all()
        OR catalog.domain_of(dataset_key) = ANY (catalog.caller_domains())
        OR dataset_key = ANY (catalog.caller_datasets())
$$;

-- A run that has ended reports no more; its last reports may still be on their way.
CREATE OR REPLACE FUNCTION catalog.end_task_tokens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    UPDATE task_token SET expires_at = now() + interval '30 seconds'
    WHERE run_id = NEW.run_id AND organisation_id = NEW.organisation_id AND expires_at > now() + interval '30 seconds';
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER end_task_tokens AFTER INSERT OR UPDATE OF status ON catalog.process_run
    FOR EACH ROW WHEN (NEW.status NOT IN ('RUNNING', 'QUEUED', 'HELD'))
    EXECUTE FUNCTION catalog.end_task_tokens();

-- Return the stored answer to the caller's request with this key; wait while another request of the caller with this
-- key runs.
CREATE OR REPLACE FUNCTION catalog.stored_answer(key text) RETURNS SETOF catalog.answered_request
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended('headrace/answer/' || caller_organisation() || '/' || caller_subject() || '/' || key, 0)
    );
    RETURN QUERY SELECT * FROM answered_request
    WHERE organisation_id = caller_organisation() AND subject = caller_subject() AND idempotency_key = key;
END $$;

-- Store an answer for at least a day.
CREATE OR REPLACE FUNCTION catalog.store_answer(key text, hash text, with_status integer, given jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    DELETE FROM answered_request
    WHERE organisation_id = caller_organisation() AND answered_at < now() - interval '1 day';
    INSERT INTO answered_request (organisation_id, subject, idempotency_key, request_hash, status, answer)
    VALUES (caller_organisation(), caller_subject(), key, hash, with_status, given);
$$;
