SELECT full_name AS key, description, default_format AS format, owners, tags, partitions, status, declared_at, updated_at,
       lineage.known_count AS known_columns, lineage.column_count AS lineage_columns
FROM catalog.dataset
LEFT JOIN LATERAL (
    -- The last reported column lineage.
    SELECT stored.known_count, stored.column_count
    FROM catalog.dataset_name named
    JOIN catalog.column_lineage_report report ON report.target_name_id = named.name_id AND report.via = 'plan'
    JOIN catalog.dataset_lineage stored
        ON stored.dataset_id = named.dataset_id AND stored.lineage_hash = report.lineage_hash
    WHERE named.dataset_id = dataset.dataset_id
    ORDER BY report.last_at DESC
    LIMIT 1
) lineage ON true
WHERE organisation_id = %(organisation)s
  AND full_name > %(after)s
  AND (status = 'RETIRED') = %(retired)s
  AND (%(search)s::text IS NULL
       OR position(lower(%(search)s) IN lower(full_name)) > 0
       OR position(lower(%(search)s) IN lower(description)) > 0
       OR EXISTS (SELECT FROM unnest(owners) AS owner WHERE position(lower(%(search)s) IN lower(owner)) > 0)
       OR tags ? %(search)s)
  AND (%(domain)s::text IS NULL OR catalog.domain_of(full_name) = %(domain)s)
  AND (%(owner)s::text IS NULL OR %(owner)s = ANY (owners))
  AND (%(tag)s::text IS NULL OR tags ->> %(tag)s = coalesce(%(tag_value)s::text, tags ->> %(tag)s))
  AND (%(column_tag)s::text IS NULL OR column_tags ? %(column_tag)s)
  AND (%(format)s::text IS NULL OR default_format = %(format)s)
  AND (%(sla)s::text IS NULL
       OR EXISTS (SELECT FROM catalog.sla_objective objective
                  WHERE objective.dataset_id = dataset.dataset_id AND objective.state = %(sla)s))
  AND (%(quality)s::text IS NULL
       OR EXISTS (SELECT FROM catalog.dataset_quality quality
                  WHERE quality.dataset_id = dataset.dataset_id AND quality.band = %(quality)s))
ORDER BY full_name
LIMIT %(limit)s
