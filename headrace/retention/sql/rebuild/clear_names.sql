-- Names under which versions report column lineage do not come from events, and stay.
DELETE FROM catalog.dataset_name named
WHERE organisation_id = %(organisation)s
  AND NOT EXISTS (
      SELECT FROM catalog.column_lineage stated
      WHERE stated.via = 'plan' AND named.name_id IN (stated.target_name_id, stated.source_name_id)
  )
  AND NOT EXISTS (SELECT FROM catalog.lineage_flow flow WHERE flow.source_name_id = named.name_id)
  AND NOT EXISTS (
      SELECT FROM catalog.column_lineage_report stated WHERE stated.via = 'plan' AND stated.target_name_id = named.name_id
  )
