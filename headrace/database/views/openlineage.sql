-- The OL_* relational model as views, and what they and the exports share. The views in `catalog` apply the rights and
-- the row-level security of their reader; where the session has headrace.organisation_id, they show that organisation
-- only.

-- The OpenLineage names of datasets and processes: as reported, otherwise headrace://<organisation> and the key.
CREATE OR REPLACE VIEW catalog.openlineage_dataset WITH (security_invoker = true) AS
SELECT dataset.dataset_id, dataset.organisation_id,
       coalesce(reported.namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(reported.name, dataset.full_name) AS name
FROM catalog.dataset
JOIN catalog.organisation USING (organisation_id)
LEFT JOIN catalog.dataset_name reported ON reported.name_id = dataset.dataset_id
WHERE dataset.organisation_id = coalesce(catalog.caller_organisation(), dataset.organisation_id);

CREATE OR REPLACE VIEW catalog.openlineage_process WITH (security_invoker = true) AS
SELECT process_id, process.organisation_id, coalesce(job_namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(job_name, process_key) AS name
FROM catalog.process
JOIN catalog.organisation USING (organisation_id)
WHERE process.organisation_id = coalesce(catalog.caller_organisation(), process.organisation_id);

-- The columns of each dataset: those of its newest published version, and until there is one with any, as declared.
DO $do$
DECLARE
    query text := $view$
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
        ) field
    $view$;
BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW catalog.dataset_field WITH (security_invoker = true) AS' || query;
    EXECUTE 'CREATE OR REPLACE VIEW openlineage_core.dataset_field AS' || query;
END $do$;

DO $do$
DECLARE
    query text := $view$
        SELECT column_lineage_id, lineage.organisation_id, lineage.process_id, lineage.target_name_id,
               source.dataset_id AS source_id, coalesce(nullif(source_field, ''), '*') AS source_field,
               target.dataset_id AS target_id, coalesce(nullif(target_field, ''), '*') AS target_field,
               nullif(transformation_type, '') AS transformation_type,
               nullif(transformation_subtype, '') AS transformation_subtype,
               nullif(transformation_description, '') AS transformation_description, masking, run_id, first_at,
               lineage.last_at >= report.last_at AS current, lineage.confidence
        FROM catalog.column_lineage lineage
        JOIN catalog.dataset_name source ON source.name_id = lineage.source_name_id
        JOIN catalog.dataset_name target ON target.name_id = lineage.target_name_id
        JOIN catalog.column_lineage_report report
            ON report.target_name_id = lineage.target_name_id
           AND report.reporter_id = lineage.reporter_id
           AND report.via = lineage.via
    $view$;
BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW catalog.column_edge WITH (security_invoker = true) AS' || query;
    EXECUTE 'CREATE OR REPLACE VIEW openlineage_core.column_edge AS' || query;
END $do$;

CREATE OR REPLACE VIEW openlineage_core.named_dataset AS
SELECT dataset.dataset_id, dataset.organisation_id,
       coalesce(reported.namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(reported.name, dataset.full_name) AS name
FROM catalog.dataset
JOIN catalog.organisation USING (organisation_id)
LEFT JOIN catalog.dataset_name reported ON reported.name_id = dataset.dataset_id
WHERE dataset.organisation_id = (SELECT catalog.caller_organisation())
   OR (SELECT catalog.caller_organisation() IS NULL AND NOT row_security_active('catalog.organisation'::regclass));

CREATE OR REPLACE VIEW openlineage_core.named_process AS
SELECT process_id, process.organisation_id, coalesce(job_namespace, 'headrace://' || organisation.name) AS namespace_uri,
       coalesce(job_name, process_key) AS name
FROM catalog.process
JOIN catalog.organisation USING (organisation_id)
WHERE process.organisation_id = (SELECT catalog.caller_organisation())
   OR (SELECT catalog.caller_organisation() IS NULL AND NOT row_security_active('catalog.organisation'::regclass));

CREATE OR REPLACE VIEW openlineage.ol_namespace WITH (security_invoker = false) AS
SELECT catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(namespace_uri, 512)::varchar(512) AS namespace_uri,
       NULL::varchar(2000) AS description,
       '2-0-2'::varchar(20) AS spec_version,
       min(created_at)::timestamptz(0) AS created_at
FROM (
    SELECT namespace_uri, created_at FROM openlineage_core.named_dataset JOIN catalog.dataset USING (dataset_id)
    UNION ALL
    SELECT namespace_uri, created_at FROM openlineage_core.named_process JOIN catalog.process USING (process_id)
) used
GROUP BY used.namespace_uri;

CREATE OR REPLACE VIEW openlineage.ol_dataset WITH (security_invoker = false) AS
SELECT catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id,
       catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(named.name, 256)::varchar(256) AS name,
       catalog.fitted(dataset.description, 2000)::varchar(2000) AS description,
       catalog.fitted(upper(coalesce(
           dataset_type.content ->> 'datasetType',
           CASE WHEN default_format IN ('parquet', 'csv', 'json', 'orc', 'avro', 'text', 'xml', 'xlsx', 'file')
               THEN 'FILE' ELSE 'TABLE' END)),
           50)::varchar(50) AS source_type,
       dataset.created_at::timestamptz(0) AS created_at,
       dataset.updated_at::timestamptz(0) AS updated_at,
       CASE WHEN dataset.status IN ('DEPRECATED', 'RETIRED') THEN 'N' ELSE 'Y' END::char(1) AS is_active
FROM openlineage_core.named_dataset named
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT content
    FROM catalog.dataset_name by_name
    JOIN catalog.facet ON facet.subject_type = 'DATASET' AND facet.subject_id = by_name.name_id
    WHERE by_name.dataset_id = dataset.dataset_id AND facet.name = 'datasetType' AND NOT facet.deleted
    ORDER BY facet.at DESC, facet.digest
    LIMIT 1
) dataset_type ON true;

CREATE OR REPLACE VIEW openlineage.ol_dataset_field WITH (security_invoker = false) AS
SELECT catalog.fitted(catalog.within_namespace(namespace_uri, named.name) || '/' || field.name, 512)::varchar(512) AS field_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id,
       catalog.fitted(field.name, 256)::varchar(256) AS field_name,
       catalog.fitted(field.type, 256)::varchar(256) AS field_type,
       catalog.fitted(field.description, 2000)::varchar(2000) AS field_description,
       field.position AS ordinal_position,
       CASE WHEN field.nullable THEN 'Y' WHEN NOT field.nullable THEN 'N' END::char(1) AS nullable,
       field.created_at::timestamptz(0) AS created_at
FROM openlineage_core.named_dataset named
JOIN openlineage_core.dataset_field field USING (dataset_id);

CREATE OR REPLACE VIEW openlineage.ol_job WITH (security_invoker = false) AS
SELECT catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS job_id,
       catalog.namespace_id(namespace_uri)::varchar(64) AS namespace_id,
       catalog.fitted(named.name, 256)::varchar(256) AS name,
       catalog.fitted(process.description, 2000)::varchar(2000) AS description,
       catalog.fitted(process.technology, 50)::varchar(50) AS job_type,
       process.created_at::timestamptz(0) AS created_at,
       process.updated_at::timestamptz(0) AS updated_at
FROM openlineage_core.named_process named
JOIN catalog.process USING (process_id);

-- Runs in the catalog, without archived ones. Nominal times are truncated: rounding would move the end of a day to the
-- next.
CREATE OR REPLACE VIEW openlineage.ol_run WITH (security_invoker = false) AS
SELECT run.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS job_id,
       CASE run.status WHEN 'RUNNING' THEN 'START' WHEN 'SUCCESS' THEN 'COMPLETE'
                       WHEN 'FAILED' THEN 'FAIL' WHEN 'BLOCKED' THEN 'FAIL'
                       WHEN 'SUPERSEDED' THEN 'ABORT' WHEN 'LOST' THEN 'ABORT' WHEN 'TERMINATED' THEN 'ABORT'
                       ELSE 'OTHER' END::varchar(20) AS event_type,
       coalesce(run.end_ts, run.start_ts)::timestamptz(6) AS event_time,
       date_trunc('second', nominal.first::timestamptz)::timestamptz(0) AS nominal_start_time,
       date_trunc('second', nominal.last::timestamptz)::timestamptz(0) AS nominal_end_time,
       catalog.fitted(newest.payload_json ->> 'producer', 512)::varchar(512) AS producer,
       catalog.fitted(newest.payload_json ->> 'schemaURL', 512)::varchar(512) AS schema_url,
       coalesce(merged.first_at, run.start_ts)::timestamptz(0) AS created_at
FROM catalog.process_run run
JOIN openlineage_core.named_process named USING (process_id)
LEFT JOIN catalog.openlineage_run merged ON merged.organisation_id = run.organisation_id AND merged.run_id = run.run_id
LEFT JOIN LATERAL (
    SELECT payload_json
    FROM catalog.run_event event
    WHERE event.run_id = coalesce(merged.reported_run_id, run.run_id) AND event.organisation_id = run.organisation_id
    ORDER BY event_time DESC, content_hash
    LIMIT 1
) newest ON true
LEFT JOIN LATERAL (
    SELECT (merged.document #>> '{facets,nominalTime,content,nominalStartTime}') AS first,
           (merged.document #>> '{facets,nominalTime,content,nominalEndTime}') AS last
) nominal ON true;

CREATE OR REPLACE VIEW openlineage.ol_run_input WITH (security_invoker = false) AS
SELECT DISTINCT used.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id
FROM (
    SELECT input.run_id, version.dataset_id
    FROM catalog.run_input input
    JOIN catalog.dataset_version version USING (dataset_version_id)
    UNION ALL
    SELECT reported.run_id, by_name.dataset_id
    FROM catalog.run_dataset reported
    JOIN catalog.dataset_name by_name USING (name_id)
    WHERE reported.role = 'INPUT'
) used
JOIN openlineage_core.named_dataset named USING (dataset_id)
WHERE EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = used.run_id);

CREATE OR REPLACE VIEW openlineage.ol_run_output WITH (security_invoker = false) AS
SELECT DISTINCT made.run_id::text::varchar(64) AS run_id,
       catalog.within_namespace(namespace_uri, named.name)::varchar(256) AS dataset_id
FROM (
    SELECT version.produced_by_run_id AS run_id, version.dataset_id
    FROM catalog.dataset_version version
    UNION ALL
    SELECT reported.run_id, by_name.dataset_id
    FROM catalog.run_dataset reported
    JOIN catalog.dataset_name by_name USING (name_id)
    WHERE reported.role = 'OUTPUT'
) made
JOIN openlineage_core.named_dataset named USING (dataset_id)
WHERE EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = made.run_id);

-- The description of a transformation is the text of a query, with the values it compares with, and is masked; the
-- reason for an UNKNOWN one is shown.
CREATE OR REPLACE VIEW openlineage.ol_column_lineage WITH (security_invoker = false) AS
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
       CASE WHEN edge.transformation_subtype = 'UNKNOWN' THEN catalog.fitted(edge.transformation_description, 2000)
            WHEN edge.transformation_description IS NOT NULL THEN '***' END::varchar(2000) AS transformation_description,
       CASE WHEN edge.masking THEN 'Y' ELSE 'N' END::char(1) AS masking,
       edge.confidence::numeric(3, 2) AS confidence_score,
       edge.first_at::timestamptz(0) AS discovered_at,
       CASE WHEN edge.current THEN 'Y' ELSE 'N' END::char(1) AS is_active
FROM openlineage_core.column_edge edge
JOIN openlineage_core.named_dataset source ON source.dataset_id = edge.source_id
JOIN openlineage_core.named_dataset target ON target.dataset_id = edge.target_id;

CREATE OR REPLACE VIEW openlineage.ol_schema_version WITH (security_invoker = false) AS
SELECT version_id, openlineage_spec_version::varchar(20) AS openlineage_spec_version,
       schema_version::varchar(20) AS schema_version, applied_at::timestamptz(0) AS applied_at,
       description::varchar(500) AS description
FROM catalog.openlineage_model_version;
