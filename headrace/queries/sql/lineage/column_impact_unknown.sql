-- Datasets derived from these without reported column lineage, and the datasets derived from them.
WITH RECURSIVE unknown AS (
    SELECT edge.target_id AS dataset_id, seed.depth + 1 AS depth
    FROM unnest(%(datasets)s::uuid[], %(depths)s::integer[]) AS seed (dataset_id, depth)
    JOIN catalog.lineage_edge edge ON edge.source_id = seed.dataset_id
    WHERE edge.edge_role = 'DERIVES'
      AND edge.valid_to IS NULL
      AND NOT EXISTS (
          SELECT
          FROM catalog.dataset_name named
          JOIN catalog.column_lineage_report report ON report.target_name_id = named.name_id
          WHERE named.dataset_id = edge.target_id AND (report.via <> 'plan' OR report.lineage_hash IS NOT NULL))
    UNION
    SELECT edge.target_id, unknown.depth + 1
    FROM unknown
    JOIN catalog.lineage_edge edge ON edge.source_id = unknown.dataset_id
    WHERE edge.edge_role = 'DERIVES' AND edge.valid_to IS NULL AND unknown.depth < %(furthest)s
)
SELECT dataset_id, min(depth) AS depth FROM unknown WHERE dataset_id <> ALL (%(datasets)s) GROUP BY dataset_id
