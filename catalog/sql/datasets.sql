SELECT full_name AS key, description, default_format AS format, owners, tags, partitions, status, declared_at, updated_at
FROM catalog.dataset
WHERE organisation_id = %(organisation)s
  AND full_name > %(after)s
  AND (%(search)s::text IS NULL
       OR position(lower(%(search)s) IN lower(full_name)) > 0
       OR position(lower(%(search)s) IN lower(description)) > 0
       OR EXISTS (SELECT FROM unnest(owners) AS owner WHERE position(lower(%(search)s) IN lower(owner)) > 0)
       OR tags ? %(search)s)
ORDER BY full_name
LIMIT %(limit)s
