SELECT wanted.ordinal, dataset.dataset_id, dataset.full_name
FROM unnest(%(namespaces)s::text[], %(names)s::text[], %(keys)s::text[]) WITH ORDINALITY
    AS wanted (namespace, name, full_name, ordinal)
JOIN LATERAL (
    SELECT dataset_id
    FROM (
        SELECT dataset_id, 1 AS place
        FROM catalog.dataset_name named
        WHERE named.organisation_id = %(organisation)s
          AND named.namespace = wanted.namespace
          AND named.name = wanted.name
        UNION ALL
        SELECT dataset_id, 2
        FROM catalog.dataset
        WHERE organisation_id = %(organisation)s AND dataset.full_name = wanted.full_name
    ) candidate
    ORDER BY place
    LIMIT 1
) found ON true
JOIN catalog.dataset ON dataset.dataset_id = found.dataset_id
