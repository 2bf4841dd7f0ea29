SELECT namespace, wanted.name, full_name
FROM unnest(%(namespaces)s::text[], %(names)s::text[]) AS wanted (namespace, name)
CROSS JOIN LATERAL (
    SELECT dataset.full_name
    FROM catalog.dataset
    WHERE wanted.namespace = %(own)s AND dataset.organisation_id = %(organisation)s AND dataset.full_name = wanted.name
    UNION ALL
    SELECT dataset.full_name
    FROM catalog.dataset_name known
    JOIN catalog.dataset USING (dataset_id)
    WHERE known.organisation_id = %(organisation)s
      AND known.namespace = wanted.namespace
      AND known.name = wanted.name
    LIMIT 1
) known
