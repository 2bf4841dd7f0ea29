-- The external processes to show, with their predecessors and datasets, and the datasets confirmed by people; all in
-- one result.
WITH shown AS (
    SELECT process_id, technology, instance, external_name, process_key, description, owners, lifecycle, metadata_json
    FROM catalog.process
    WHERE organisation_id = %(organisation)s AND external_name IS NOT NULL AND lifecycle <> 'RETIRED'
), waiting AS (
    SELECT process_id, jsonb_agg(
        jsonb_build_array(upstream_technology, upstream_instance, upstream_name, condition, orders)
        ORDER BY upstream_technology, upstream_instance, upstream_name, condition
    ) AS waits_for
    FROM catalog.process_dependency
    JOIN shown USING (process_id)
    WHERE valid_to IS NULL AND attribute IN ('condition', 'after')
    GROUP BY process_id
), used AS (
    SELECT edge.process_id,
           jsonb_agg(DISTINCT full_name) FILTER (WHERE edge_role = 'PRODUCES') AS writes,
           jsonb_agg(DISTINCT full_name) FILTER (WHERE edge_role = 'CONSUMES') AS reads
    FROM catalog.lineage_edge edge
    JOIN shown USING (process_id)
    JOIN catalog.dataset ON dataset.dataset_id = CASE edge_role WHEN 'PRODUCES' THEN target_id ELSE source_id END
    WHERE edge.valid_to IS NULL AND edge_role IN ('PRODUCES', 'CONSUMES')
    GROUP BY edge.process_id
)
SELECT (
    SELECT jsonb_agg(jsonb_build_array(
        technology, instance, external_name, process_key, description, owners, lifecycle,
        metadata_json - 'attributes', place.file, place.line, waits_for, writes, reads
    ) ORDER BY technology, instance, external_name)
    FROM shown
    LEFT JOIN catalog.process_place place USING (process_id)
    LEFT JOIN waiting USING (process_id)
    LEFT JOIN used USING (process_id)
) AS processes, (
    SELECT jsonb_agg(jsonb_build_array(full_name, description, owners, default_format, pattern) ORDER BY full_name, pattern)
    FROM catalog.dataset_candidate
    JOIN catalog.dataset USING (dataset_id)
    WHERE dataset_candidate.organisation_id = %(organisation)s
) AS datasets
