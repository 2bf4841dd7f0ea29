-- Of edges that become duplicates one is kept: with the earliest start, and the declared one if there is one.
WITH ranked AS MATERIALIZED (
    SELECT edge_id, row_number() OVER (same ORDER BY origin, edge_id) AS place, min(valid_from) OVER same AS first
    FROM (
        SELECT edge_id, edge_role, process_id, origin, valid_from,
               CASE source_id WHEN %(old)s THEN %(into)s::uuid ELSE source_id END AS source_id,
               CASE target_id WHEN %(old)s THEN %(into)s::uuid ELSE target_id END AS target_id
        FROM catalog.lineage_edge
        WHERE valid_to IS NULL AND (source_id IN (%(old)s, %(into)s) OR target_id IN (%(old)s, %(into)s))
    ) edge
    WINDOW same AS (PARTITION BY source_id, target_id, edge_role, process_id)
), kept AS (
    UPDATE catalog.lineage_edge edge SET valid_from = ranked.first
    FROM ranked
    WHERE edge.edge_id = ranked.edge_id AND ranked.place = 1 AND edge.valid_from <> ranked.first
)
DELETE FROM catalog.lineage_edge edge USING ranked WHERE edge.edge_id = ranked.edge_id AND ranked.place > 1
