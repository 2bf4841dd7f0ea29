-- The current edges between columns of different datasets, into these targets; not those of unknown lineage.
SELECT source_id, catalog.column_of(source_field) AS source_field, target_id,
       catalog.column_of(target_field) AS target_field, transformation_type AS type,
       transformation_subtype AS subtype, masking
FROM catalog.column_edge
WHERE organisation_id = %(organisation)s AND current AND source_field <> '*' AND target_field <> '*'
  AND transformation_subtype IS DISTINCT FROM 'UNKNOWN' AND transformation_type IS DISTINCT FROM 'INDIRECT'
  AND (%(targets)s::uuid[] IS NULL OR target_id = ANY (%(targets)s))
