-- in_code: the words are in its code only.
SELECT dataset.dataset_id, full_name AS key, description, default_format AS format, owners, tags, status, score, in_code,
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
FROM (
    SELECT dataset_id, max(score) AS score, bool_and(in_code) AS in_code
    FROM (
        SELECT dataset_id, score, false AS in_code
        FROM catalog.search_datasets(
            %(organisation)s, %(query)s, %(in_names)s::tsquery, %(anywhere)s::tsquery, %(ranked)s::integer)
        UNION ALL
        SELECT dataset_id, 0, true
        FROM catalog.datasets_by_code(
            %(organisation)s, %(anywhere)s::tsquery, %(code_domains)s::text[], %(ranked)s::integer) AS dataset_id
        WHERE %(code_domains)s::text[] IS DISTINCT FROM '{}'
    ) AS place
    GROUP BY dataset_id
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
  AND (%(quality)s::text IS NULL
       OR EXISTS (SELECT FROM catalog.dataset_quality quality
                  WHERE quality.dataset_id = dataset.dataset_id AND quality.band = %(quality)s))
ORDER BY score DESC, length(full_name), full_name
OFFSET %(skip)s
LIMIT %(limit)s
