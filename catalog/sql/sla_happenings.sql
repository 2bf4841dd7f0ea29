SELECT *
FROM catalog.happening
WHERE organisation_id = %(organisation)s
  AND (transaction_id, happening_id) > (%(transaction_id)s::bigint, %(happening_id)s::bigint)
  AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY transaction_id, happening_id
LIMIT %(limit)s
