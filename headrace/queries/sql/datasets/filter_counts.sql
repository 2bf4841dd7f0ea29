-- For each filter, the values with the most datasets among those that match the words and the filters; so for each of
-- the tags in %(tags)s. in_names null: no words.
WITH matching AS MATERIALIZED (
    SELECT dataset_id, catalog.domain_of(full_name) AS domain, owners, tags, column_tags, default_format
    FROM catalog.dataset
    WHERE organisation_id = %(organisation)s
  AND status <> 'RETIRED'
  AND (%(in_names)s::text IS NULL
       OR dataset_id IN (
           SELECT dataset_id
           FROM catalog.search_datasets(
               %(organisation)s, %(query)s, %(in_names)s::tsquery, %(anywhere)s::tsquery, %(ranked)s::integer)
           UNION ALL
           SELECT catalog.datasets_by_code(
               %(organisation)s, %(anywhere)s::tsquery, %(code_domains)s::text[], %(ranked)s::integer)
           WHERE %(code_domains)s::text[] IS DISTINCT FROM '{}'))
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
), alike AS MATERIALIZED (
    -- There are far fewer combinations than datasets.
    SELECT domain, owners, tags, column_tags, default_format, count(*) AS number
    FROM matching GROUP BY domain, owners, tags, column_tags, default_format
), counted AS (
    SELECT 'domain' AS filter, '' AS tag, domain AS value, sum(number) AS count FROM alike GROUP BY domain
    UNION ALL
    SELECT 'owner', '', owner, sum(number) FROM alike CROSS JOIN unnest(owners) AS owner GROUP BY owner
    UNION ALL
    SELECT 'tag', CASE WHEN key = ANY (%(tags)s) THEN key ELSE '' END, concat_ws(': ', key, nullif(value, '')), sum(number)
    FROM alike CROSS JOIN jsonb_each_text(tags) GROUP BY key, value
    UNION ALL
    SELECT 'column_tag', '', tag, sum(number)
    FROM alike
    CROSS JOIN LATERAL (SELECT DISTINCT tag FROM jsonb_array_elements_text(column_tags) AS tag) AS each_tag
    GROUP BY tag
    UNION ALL
    SELECT 'format', '', default_format, sum(number) FROM alike GROUP BY default_format
    UNION ALL
    SELECT 'sla', '', state, count(DISTINCT dataset_id)
    FROM matching JOIN catalog.sla_objective USING (dataset_id) GROUP BY state
    UNION ALL
    SELECT 'quality', '', band, count(*) FROM matching JOIN catalog.dataset_quality USING (dataset_id) GROUP BY band
)
SELECT filter, value, count::bigint
FROM (SELECT counted.*, row_number() OVER (PARTITION BY filter, tag ORDER BY count DESC, value) AS place FROM counted) ranked
WHERE place <= %(limit)s
ORDER BY filter, place
