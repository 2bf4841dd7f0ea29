-- The lineage graph as exporters read it, without sensitive values: no locations, no texts of queries.

-- The lineage graph, without what is sensitive: no locations, no texts of queries.
CREATE OR REPLACE VIEW catalog.graph_dataset WITH (security_invoker = true) AS
SELECT dataset.dataset_id AS id, dataset.organisation_id, jsonb_strip_nulls(jsonb_build_object(
           'key', full_name, 'namespace', named.namespace_uri, 'name', named.name, 'description', description,
           'format', default_format, 'status', status, 'owners', owners,
           'tags', (SELECT jsonb_agg(concat_ws('=', key, nullif(value, '')) ORDER BY key) FROM jsonb_each_text(tags))
       )) AS properties
FROM catalog.dataset
JOIN catalog.openlineage_dataset named USING (dataset_id);

CREATE OR REPLACE VIEW catalog.graph_process WITH (security_invoker = true) AS
SELECT process.process_id AS id, process.organisation_id, jsonb_strip_nulls(jsonb_build_object(
           'key', process_key, 'namespace', named.namespace_uri, 'name', named.name, 'description', description,
           'technology', technology, 'trigger_mode', trigger_mode, 'lifecycle', lifecycle, 'owners', owners
       )) AS properties
FROM catalog.process
JOIN catalog.openlineage_process named USING (process_id);

CREATE OR REPLACE VIEW catalog.graph_edge WITH (security_invoker = true) AS
SELECT edge_id AS id, edge.organisation_id, source_type, source_id, target_type, target_id, edge_role AS role,
       valid_to IS NULL AS current,
       jsonb_strip_nulls(jsonb_build_object('process', process_key, 'origin', origin, 'since', valid_from)) AS properties
FROM catalog.lineage_edge edge
LEFT JOIN catalog.process USING (process_id);

CREATE OR REPLACE VIEW catalog.graph_column_edge WITH (security_invoker = true) AS
SELECT column_lineage_id AS id, edge.organisation_id, edge.target_name_id, source_id, source_field, target_id, target_field,
       'DERIVES' AS role, current, jsonb_strip_nulls(jsonb_build_object(
           'process', process_key, 'type', transformation_type, 'subtype', transformation_subtype, 'masking', masking,
           'since', first_at)) AS properties
FROM catalog.column_edge edge
LEFT JOIN catalog.process USING (process_id);
