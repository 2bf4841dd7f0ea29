-- The facets of the datasets of these names and ids, under any name: the newest of each kind, and if one event states
-- it for two names, that of the smaller name.
SELECT dataset_id, coalesce(jsonb_object_agg(facet_name, content) FILTER (WHERE NOT deleted), '{}') AS facets
FROM (
    SELECT DISTINCT ON (named.dataset_id, facet.name)
           named.dataset_id, facet.name AS facet_name, facet.content, facet.deleted
    FROM catalog.dataset
    JOIN catalog.dataset_name named USING (dataset_id)
    JOIN catalog.facet ON facet.subject_type = 'DATASET' AND facet.subject_id = named.name_id
    WHERE (dataset.dataset_id IN (SELECT dataset_id FROM catalog.dataset_name WHERE name_id = ANY (%(names)s::uuid[]))
           OR dataset.dataset_id = ANY (%(datasets)s::uuid[]))
      AND dataset.declaration_hash = ''
      AND (facet.modelled OR facet.deleted)
      AND facet.name IN ('schema', 'ownership', 'tags', 'documentation', 'storage', 'datasetType', 'dataSource',
                         'catalog', 'hierarchy', 'lifecycleStateChange')
    ORDER BY named.dataset_id, facet.name, facet.at DESC, facet.digest DESC, named.name_id
) newest
GROUP BY dataset_id
