UPDATE catalog.lineage_edge
SET source_id = CASE source_id WHEN %(old)s THEN %(into)s::uuid ELSE source_id END,
    target_id = CASE target_id WHEN %(old)s THEN %(into)s::uuid ELSE target_id END
WHERE source_id = %(old)s OR target_id = %(old)s
