SELECT dataset.dataset_id, full_name AS key, description, default_format AS format, owners, tags, status, score,
       ARRAY(
           SELECT found_column.name
           FROM (
               SELECT item ->> 'name' AS name, place,
                      (SELECT count(*) FROM regexp_split_to_table(lower(%(query)s), '\s+') word
                       WHERE length(word) >= 3 AND strpos(lower(item ->> 'name'), word) > 0) AS hits
               FROM jsonb_array_elements(dataset.columns) WITH ORDINALITY element (item, place)
           ) found_column
           WHERE hits > 0
           ORDER BY hits DESC, place
           LIMIT 3
       ) AS columns
FROM catalog.search_datasets(
    %(organisation)s, %(query)s, %(in_names)s::tsquery, %(anywhere)s::tsquery, %(ranked)s::integer
) found
JOIN catalog.dataset USING (dataset_id)
WHERE true
  AND (%(domain)s::text IS NULL OR catalog.domain_of(full_name) = %(domain)s)
  AND (%(owner)s::text IS NULL OR %(owner)s = ANY (owners))
  AND (%(tag)s::text IS NULL OR tags ->> %(tag)s = coalesce(%(tag_value)s::text, tags ->> %(tag)s))
  AND (%(column_tag)s::text IS NULL OR column_tags ? %(column_tag)s)
  AND (%(format)s::text IS NULL OR default_format = %(format)s)
  AND (%(sla)s::text IS NULL
       OR EXISTS (SELECT FROM catalog.sla_objective objective
                  WHERE objective.dataset_id = dataset.dataset_id AND objective.state = %(sla)s))
ORDER BY score DESC, length(full_name), full_name
OFFSET %(skip)s
LIMIT %(limit)s
