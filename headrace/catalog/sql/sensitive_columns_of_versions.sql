-- The sensitive columns of versions with their sources, by provenance, which versions share.
WITH asked AS MATERIALIZED (
    SELECT dataset_id, provenance_id, array_agg(dataset_version_id) AS versions
    FROM catalog.dataset_version
    WHERE dataset_version_id = ANY (%(versions)s)
    GROUP BY dataset_id, provenance_id
), sensitive AS MATERIALIZED (
    SELECT * FROM catalog.sensitive_columns(
        %(organisation)s, ARRAY(SELECT dataset_id FROM asked), ARRAY(SELECT provenance_id FROM asked), %(origins)s)
)
SELECT versions, coalesce(
    jsonb_object_agg(column_name, coalesce(sources, '{}')) FILTER (WHERE column_name IS NOT NULL), '{}') AS columns
FROM asked
LEFT JOIN sensitive
    ON sensitive.dataset_id = asked.dataset_id AND sensitive.provenance_id IS NOT DISTINCT FROM asked.provenance_id
GROUP BY asked.dataset_id, asked.provenance_id, versions
