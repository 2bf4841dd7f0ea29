-- Removes the values of rows from what the catalog knows of versions: statistics and sketches of columns, and examples of
-- failing rows. Drift checks name values of the versions that they compare with, so they lose theirs in the whole dataset.
WITH erased AS (
    UPDATE catalog.dataset_version SET statistics = '{}'
    WHERE dataset_version_id = ANY (%(versions)s)
    RETURNING dataset_version_id, dataset_id, version_tag, produced_by_run_id
), sketches AS (
    DELETE FROM catalog.column_sketch sketch USING erased
    WHERE sketch.dataset_version_id = erased.dataset_version_id
), results AS (
    UPDATE catalog.quality_check_result SET detail_json = '{}'
    WHERE (dataset_version_id, name) IN (
        SELECT result.dataset_version_id, result.name
        FROM erased
        JOIN catalog.quality_check_result result USING (dataset_version_id)
        UNION
        SELECT version.dataset_version_id, def.name
        FROM (SELECT DISTINCT dataset_id FROM erased) changed
        JOIN catalog.quality_check_def def USING (dataset_id)
        JOIN catalog.dataset_version version USING (dataset_id)
        WHERE def.kind = 'drift')
)
UPDATE catalog.run_event event SET payload_json = catalog.event_without_values(payload_json)
WHERE organisation_id = %(organisation)s
  AND (run_id IN (SELECT produced_by_run_id FROM erased)
       OR event_type = 'DATASET' AND EXISTS (
           SELECT FROM jsonb_path_query(payload_json, '$.dataset.facets.headrace_versions.versions[*].tag') AS tag
           JOIN erased ON version_tag = tag #>> '{}'))
