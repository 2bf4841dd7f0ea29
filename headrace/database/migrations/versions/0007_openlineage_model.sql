-- The OL_* relational model as views over the core, and the lineage graph as other tools read it. Every view asks as
-- whoever reads it, so that row-level security holds beneath it; and where the session's headrace.organisation_id is set,
-- they show that organisation's rows only.

-- Text that fits `octets` of UTF-8. What is too long ends in ~ and a hash, and so stays distinct.
CREATE FUNCTION catalog.fitted(value text, octets integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(value) <= octets THEN value
                ELSE left(value, CASE WHEN octet_length(value) = length(value) THEN octets - 17
                                      ELSE (octets - 17) / 4 END)
                     || '~' || left(encode(sha256(convert_to(value, 'UTF8')), 'hex'), 16) END
$$;
CREATE FUNCTION catalog.namespace_id(uri text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(encode(sha256(convert_to(uri, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION catalog.within_namespace(uri text, name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT catalog.fitted(catalog.namespace_id(uri) || '/' || name, 256)
$$;

-- What OpenLineage calls each dataset and each process: as they were reported, or headrace://<organisation> and the key.
CREATE VIEW catalog.openlineage_dataset WITH (security_invoker = true) AS
SELECT dataset.dataset_id, dataset.organisation_id,
       coalesce(reported.namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(reported.name, dataset.full_name) AS name
FROM catalog.dataset
JOIN catalog.organisation USING (organisation_id)
LEFT JOIN catalog.dataset_name reported ON reported.name_id = dataset.dataset_id
WHERE dataset.organisation_id = coalesce(catalog.caller_organisation(), dataset.organisation_id);

CREATE VIEW catalog.openlineage_process WITH (security_invoker = true) AS
SELECT process_id, process.organisation_id, coalesce(job_namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(job_name, process_key) AS name
FROM catalog.process
JOIN catalog.organisation USING (organisation_id)
WHERE process.organisation_id = coalesce(catalog.caller_organisation(), process.organisation_id);

-- The columns of each dataset: those of its newest published version, and until there is one with any, as declared.
CREATE VIEW catalog.dataset_field WITH (security_invoker = true) AS
SELECT dataset.dataset_id, dataset.organisation_id, field.position, field.name, field.type, field.nullable,
       field.description, field.created_at
FROM catalog.dataset
LEFT JOIN LATERAL (
    SELECT schema_hash
    FROM catalog.dataset_version version
    WHERE version.dataset_id = dataset.dataset_id AND version.outcome = 'PUBLISHED'
    ORDER BY produced_at DESC, dataset_version_id
    LIMIT 1
) newest ON true
CROSS JOIN LATERAL (
    SELECT column_order AS position, column_name AS name, column_type AS type, stored.nullable,
           column_metadata ->> 'description' AS description, stored.created_at
    FROM catalog.dataset_schema stored
    WHERE stored.dataset_id = dataset.dataset_id AND stored.schema_hash = newest.schema_hash
    UNION ALL
    SELECT position::integer, item ->> 'name', item ->> 'type', (item ->> 'nullable')::boolean, item ->> 'description',
           dataset.created_at
    FROM jsonb_array_elements(dataset.columns) WITH ORDINALITY AS declared (item, position)
    WHERE NOT EXISTS (
        SELECT
        FROM catalog.dataset_schema stored
        WHERE stored.dataset_id = dataset.dataset_id AND stored.schema_hash = newest.schema_hash
    )
) field;

-- What a process says of where columns come from, by datasets; current: it was still said when the process spoke last.
-- '*' is for a field: all of the dataset.
CREATE VIEW catalog.column_edge WITH (security_invoker = true) AS
SELECT column_lineage_id, lineage.organisation_id, lineage.process_id, lineage.target_name_id,
       source.dataset_id AS source_id, coalesce(nullif(source_field, ''), '*') AS source_field,
       target.dataset_id AS target_id, coalesce(nullif(target_field, ''), '*') AS target_field,
       nullif(transformation_type, '') AS transformation_type,
       nullif(transformation_subtype, '') AS transformation_subtype,
       nullif(transformation_description, '') AS transformation_description, masking, run_id, first_at,
       lineage.last_at >= said.last_at AS current
FROM catalog.column_lineage lineage
JOIN catalog.dataset_name source ON source.name_id = lineage.source_name_id
JOIN catalog.dataset_name target ON target.name_id = lineage.target_name_id
JOIN catalog.column_lineage_report said
    ON said.target_name_id = lineage.target_name_id
   AND said.reporter_id = lineage.reporter_id
   AND said.via = lineage.via;

CREATE INDEX column_lineage_process ON catalog.column_lineage (process_id);

CREATE TABLE catalog.openlineage_model_version (
    version_id               integer PRIMARY KEY,
    openlineage_spec_version text NOT NULL,
    schema_version           text NOT NULL,
    applied_at               timestamptz NOT NULL DEFAULT now(),
    description              text NOT NULL
);
INSERT INTO catalog.openlineage_model_version (version_id, openlineage_spec_version, schema_version, description)
VALUES (1, '2-0-2', '1.0.0', 'The OpenLineage views as first installed');

CREATE SCHEMA IF NOT EXISTS openlineage;

CREATE VIEW openlineage.ol_namespace WITH (security_invoker = true) AS
SELECT catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(namespace_uri, 512)::varchar(512) AS namespace_uri,
       NULL::varchar(2000) AS description,
       '2-0-2'::varchar(20) AS spec_version,
       min(created_at)::timestamptz(0) AS created_at
FROM (
    SELECT namespace_uri, created_at FROM catalog.openlineage_dataset JOIN catalog.dataset USING (dataset_id)
    UNION ALL
    SELECT namespace_uri, created_at FROM catalog.openlineage_process JOIN catalog.process USING (process_id)
) used
GROUP BY used.namespace_uri;

CREATE VIEW openlineage.ol_dataset WITH (security_invoker = true) AS
SELECT catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id,
       catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(named.name, 256)::varchar(256) AS name,
       catalog.fitted(dataset.description, 2000)::varchar(2000) AS description,
       catalog.fitted(upper(coalesce(
           told.content ->> 'datasetType',
           CASE WHEN default_format IN ('parquet', 'csv', 'json', 'orc', 'avro', 'text') THEN 'FILE' ELSE 'TABLE' END)),
           50)::varchar(50) AS source_type,
       dataset.created_at::timestamptz(0) AS created_at,
       dataset.updated_at::timestamptz(0) AS updated_at,
       CASE dataset.status WHEN 'DEPRECATED' THEN 'N' ELSE 'Y' END::char(1) AS is_active
FROM catalog.openlineage_dataset named
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT content
    FROM catalog.dataset_name by_name
    JOIN catalog.facet ON facet.subject_type = 'DATASET' AND facet.subject_id = by_name.name_id
    WHERE by_name.dataset_id = dataset.dataset_id AND facet.name = 'datasetType' AND NOT facet.deleted
    ORDER BY facet.at DESC, facet.digest
    LIMIT 1
) told ON true;

CREATE VIEW openlineage.ol_dataset_field WITH (security_invoker = true) AS
SELECT catalog.fitted(catalog.within_namespace(namespace_uri, named.name) || '/' || field.name, 512)::varchar(512) AS field_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id,
       catalog.fitted(field.name, 256)::varchar(256) AS field_name,
       catalog.fitted(field.type, 256)::varchar(256) AS field_type,
       catalog.fitted(field.description, 2000)::varchar(2000) AS field_description,
       field.position AS ordinal_position,
       CASE WHEN field.nullable THEN 'Y' WHEN NOT field.nullable THEN 'N' END::char(1) AS nullable,
       field.created_at::timestamptz(0) AS created_at
FROM catalog.openlineage_dataset named
JOIN catalog.dataset_field field USING (dataset_id);

CREATE VIEW openlineage.ol_job WITH (security_invoker = true) AS
SELECT catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS job_id,
       catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(named.name, 256)::varchar(256) AS name,
       catalog.fitted(process.description, 2000)::varchar(2000) AS description,
       catalog.fitted(process.technology, 50)::varchar(50) AS job_type,
       process.created_at::timestamptz(0) AS created_at,
       process.updated_at::timestamptz(0) AS updated_at
FROM catalog.openlineage_process named
JOIN catalog.process USING (process_id);

-- Runs of which the catalog has rows, and not those that are archived.
CREATE VIEW openlineage.ol_run WITH (security_invoker = true) AS
SELECT run.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS job_id,
       CASE run.status WHEN 'RUNNING' THEN 'START' WHEN 'SUCCESS' THEN 'COMPLETE'
                       WHEN 'FAILED' THEN 'FAIL' WHEN 'BLOCKED' THEN 'FAIL'
                       WHEN 'SUPERSEDED' THEN 'ABORT' WHEN 'LOST' THEN 'ABORT' WHEN 'TERMINATED' THEN 'ABORT'
                       ELSE 'OTHER' END::varchar(20) AS event_type,
       coalesce(run.end_ts, run.start_ts)::timestamptz(6) AS event_time,
       nominal.first::timestamptz(0) AS nominal_start_time,
       nominal.last::timestamptz(0) AS nominal_end_time,
       catalog.fitted(told.payload_json ->> 'producer', 512)::varchar(512) AS producer,
       catalog.fitted(told.payload_json ->> 'schemaURL', 512)::varchar(512) AS schema_url,
       coalesce(said.first_at, run.start_ts)::timestamptz(0) AS created_at
FROM catalog.process_run run
JOIN catalog.openlineage_process named USING (process_id)
LEFT JOIN catalog.openlineage_run said ON said.organisation_id = run.organisation_id AND said.run_id = run.run_id
LEFT JOIN LATERAL (
    SELECT payload_json
    FROM catalog.run_event event
    WHERE event.run_id = coalesce(said.reported_run_id, run.run_id)
    ORDER BY event_time DESC, content_hash
    LIMIT 1
) told ON true
LEFT JOIN LATERAL (
    SELECT (said.document #>> '{facets,nominalTime,content,nominalStartTime}') AS first,
           (said.document #>> '{facets,nominalTime,content,nominalEndTime}') AS last
) nominal ON true;

CREATE VIEW openlineage.ol_run_input WITH (security_invoker = true) AS
SELECT DISTINCT used.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id
FROM (
    SELECT input.run_id, version.dataset_id
    FROM catalog.run_input input
    JOIN catalog.dataset_version version USING (dataset_version_id)
    UNION ALL
    SELECT told.run_id, by_name.dataset_id
    FROM catalog.run_dataset told
    JOIN catalog.dataset_name by_name USING (name_id)
    WHERE told.role = 'INPUT'
) used
JOIN catalog.openlineage_dataset named USING (dataset_id)
WHERE EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = used.run_id);

CREATE VIEW openlineage.ol_run_output WITH (security_invoker = true) AS
SELECT DISTINCT made.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id
FROM (
    SELECT version.produced_by_run_id AS run_id, version.dataset_id
    FROM catalog.dataset_version version
    UNION ALL
    SELECT told.run_id, by_name.dataset_id
    FROM catalog.run_dataset told
    JOIN catalog.dataset_name by_name USING (name_id)
    WHERE told.role = 'OUTPUT'
) made
JOIN catalog.openlineage_dataset named USING (dataset_id)
WHERE EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = made.run_id);

-- Lineage as somebody reported it: nothing in it is guessed, so that its confidence is 1.
CREATE VIEW openlineage.ol_column_lineage WITH (security_invoker = true) AS
SELECT edge.column_lineage_id::text::varchar(64) AS lineage_id,
       edge.run_id::text::varchar(64) AS run_id,
       catalog.fitted(source.namespace_uri, 512)::varchar(512) AS source_namespace,
       catalog.fitted(source.name, 256)::varchar(256) AS source_dataset,
       catalog.fitted(edge.source_field, 256)::varchar(256) AS source_field,
       catalog.fitted(target.namespace_uri, 512)::varchar(512) AS target_namespace,
       catalog.fitted(target.name, 256)::varchar(256) AS target_dataset,
       catalog.fitted(edge.target_field, 256)::varchar(256) AS target_field,
       catalog.fitted(edge.transformation_type, 20)::varchar(20) AS transformation_type,
       catalog.fitted(edge.transformation_subtype, 50)::varchar(50) AS transformation_subtype,
       catalog.fitted(edge.transformation_description, 2000)::varchar(2000) AS transformation_description,
       CASE WHEN edge.masking THEN 'Y' ELSE 'N' END::char(1) AS masking,
       1.00::numeric(3, 2) AS confidence_score,
       edge.first_at::timestamptz(0) AS discovered_at,
       CASE WHEN edge.current THEN 'Y' ELSE 'N' END::char(1) AS is_active
FROM catalog.column_edge edge
JOIN catalog.openlineage_dataset source ON source.dataset_id = edge.source_id
JOIN catalog.openlineage_dataset target ON target.dataset_id = edge.target_id;

CREATE VIEW openlineage.ol_schema_version WITH (security_invoker = true) AS
SELECT version_id, openlineage_spec_version::varchar(20) AS openlineage_spec_version,
       schema_version::varchar(20) AS schema_version, applied_at::timestamptz(0) AS applied_at,
       description::varchar(500) AS description
FROM catalog.openlineage_model_version;

-- The lineage graph, without what is sensitive: no locations, no texts of queries.
CREATE VIEW catalog.graph_dataset WITH (security_invoker = true) AS
SELECT dataset.dataset_id AS id, dataset.organisation_id, jsonb_strip_nulls(jsonb_build_object(
           'key', full_name, 'namespace', named.namespace_uri, 'name', named.name, 'description', description,
           'format', default_format, 'status', status, 'owners', owners,
           'tags', (SELECT jsonb_agg(concat_ws('=', key, nullif(value, '')) ORDER BY key) FROM jsonb_each_text(tags))
       )) AS properties
FROM catalog.dataset
JOIN catalog.openlineage_dataset named USING (dataset_id);

CREATE VIEW catalog.graph_process WITH (security_invoker = true) AS
SELECT process.process_id AS id, process.organisation_id, jsonb_strip_nulls(jsonb_build_object(
           'key', process_key, 'namespace', named.namespace_uri, 'name', named.name, 'description', description,
           'technology', technology, 'trigger_mode', trigger_mode, 'lifecycle', lifecycle, 'owners', owners
       )) AS properties
FROM catalog.process
JOIN catalog.openlineage_process named USING (process_id);

CREATE VIEW catalog.graph_edge WITH (security_invoker = true) AS
SELECT edge_id AS id, edge.organisation_id, source_type, source_id, target_type, target_id, edge_role AS role,
       valid_to IS NULL AS current,
       jsonb_strip_nulls(jsonb_build_object('process', process_key, 'origin', origin, 'since', valid_from)) AS properties
FROM catalog.lineage_edge edge
LEFT JOIN catalog.process USING (process_id);

CREATE VIEW catalog.graph_column_edge WITH (security_invoker = true) AS
SELECT column_lineage_id AS id, edge.organisation_id, edge.target_name_id, source_id, source_field, target_id, target_field,
       'DERIVES' AS role, current, jsonb_strip_nulls(jsonb_build_object(
           'process', process_key, 'type', transformation_type, 'subtype', transformation_subtype, 'masking', masking,
           'since', first_at)) AS properties
FROM catalog.column_edge edge
LEFT JOIN catalog.process USING (process_id);

-- transaction_id orders the outbox as it becomes visible: what lies before the oldest transaction under way is complete,
-- which outbox_id alone does not say.
ALTER TABLE catalog.outbox
    ADD COLUMN transaction_id bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX outbox_visible ON catalog.outbox (organisation_id, transaction_id, outbox_id);

-- How far a reader of the outbox has come; what is behind it nobody needs to keep for him.
CREATE TABLE catalog.outbox_reader (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    reader          text COLLATE "C" NOT NULL,
    transaction_id  bigint NOT NULL,
    outbox_id       bigint NOT NULL,
    read_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, reader)
);

-- Changes of the graph go to the outbox: the topic is the view that has the rows, the payload their ids (of the target's
-- name for columns). They are told whoever makes them, also of rows that he himself may not see.
CREATE FUNCTION catalog.tell_graph_rows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM changed) THEN
        EXECUTE format(
            'INSERT INTO catalog.outbox (organisation_id, topic, payload_json) '
            'SELECT organisation_id, %1$L, jsonb_build_object(''ids'', jsonb_agg(id)) '
            'FROM (SELECT organisation_id, id, row_number() OVER (ORDER BY id) / 1000 AS chunk '
            '      FROM (SELECT DISTINCT organisation_id, %2$I AS id FROM changed) each) told '
            'GROUP BY organisation_id, chunk', TG_ARGV[0], TG_ARGV[1]);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION catalog.tell_graph_row() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    INSERT INTO outbox (organisation_id, topic, payload_json)
    VALUES (NEW.organisation_id, TG_ARGV[0], jsonb_build_object('ids', jsonb_build_array(to_jsonb(NEW) -> TG_ARGV[1])));
    RETURN NULL;
END $$;

CREATE TRIGGER tell_graph_made AFTER INSERT ON catalog.dataset REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_dataset', 'dataset_id');
CREATE TRIGGER tell_graph_gone AFTER DELETE ON catalog.dataset REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_dataset', 'dataset_id');
CREATE TRIGGER tell_graph_changed AFTER UPDATE ON catalog.dataset
    FOR EACH ROW WHEN ((OLD.full_name, OLD.namespace, OLD.name, OLD.description, OLD.default_format, OLD.status, OLD.owners,
                        OLD.tags)
                       IS DISTINCT FROM (NEW.full_name, NEW.namespace, NEW.name, NEW.description, NEW.default_format,
                                         NEW.status, NEW.owners, NEW.tags))
    EXECUTE FUNCTION catalog.tell_graph_row('graph_dataset', 'dataset_id');

CREATE TRIGGER tell_graph_made AFTER INSERT ON catalog.process REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_process', 'process_id');
CREATE TRIGGER tell_graph_gone AFTER DELETE ON catalog.process REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_process', 'process_id');
CREATE TRIGGER tell_graph_changed AFTER UPDATE ON catalog.process
    FOR EACH ROW WHEN ((OLD.process_key, OLD.job_namespace, OLD.job_name, OLD.description, OLD.technology,
                        OLD.trigger_mode, OLD.lifecycle, OLD.owners)
                       IS DISTINCT FROM (NEW.process_key, NEW.job_namespace, NEW.job_name, NEW.description,
                                         NEW.technology, NEW.trigger_mode, NEW.lifecycle, NEW.owners))
    EXECUTE FUNCTION catalog.tell_graph_row('graph_process', 'process_id');

CREATE TRIGGER tell_graph_made AFTER INSERT ON catalog.lineage_edge REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_edge', 'edge_id');
CREATE TRIGGER tell_graph_gone AFTER DELETE ON catalog.lineage_edge REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_edge', 'edge_id');
CREATE TRIGGER tell_graph_changed AFTER UPDATE ON catalog.lineage_edge
    FOR EACH ROW WHEN ((OLD.source_id, OLD.target_id, OLD.edge_role, OLD.process_id, OLD.origin, OLD.valid_to)
                       IS DISTINCT FROM (NEW.source_id, NEW.target_id, NEW.edge_role, NEW.process_id, NEW.origin,
                                         NEW.valid_to))
    EXECUTE FUNCTION catalog.tell_graph_row('graph_edge', 'edge_id');

CREATE TRIGGER tell_graph_made AFTER INSERT ON catalog.column_lineage REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_column_edge', 'target_name_id');
CREATE TRIGGER tell_graph_gone AFTER DELETE ON catalog.column_lineage REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_column_edge', 'target_name_id');
-- What was said last decides which of a target's rows are current.
CREATE TRIGGER tell_graph_changed AFTER UPDATE ON catalog.column_lineage_report REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.tell_graph_rows('graph_column_edge', 'target_name_id');

-- A name that is another dataset's from now on takes its columns with it.
CREATE FUNCTION catalog.tell_graph_name() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    INSERT INTO outbox (organisation_id, topic, payload_json)
    VALUES (NEW.organisation_id, 'graph_dataset', jsonb_build_object('ids', jsonb_build_array(OLD.dataset_id, NEW.dataset_id)));
    INSERT INTO outbox (organisation_id, topic, payload_json)
    SELECT NEW.organisation_id, 'graph_column_edge', jsonb_build_object('ids', jsonb_agg(DISTINCT target_name_id))
    FROM column_lineage
    WHERE target_name_id = NEW.name_id OR source_name_id = NEW.name_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER tell_graph_moved AFTER UPDATE ON catalog.dataset_name
    FOR EACH ROW WHEN (OLD.dataset_id <> NEW.dataset_id) EXECUTE FUNCTION catalog.tell_graph_name();
