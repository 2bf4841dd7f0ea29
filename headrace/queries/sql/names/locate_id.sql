SELECT dataset_id
FROM (
    SELECT dataset_id, 1 AS place
    FROM catalog.dataset
    WHERE dataset_id = %(dataset_id)s AND organisation_id = %(organisation)s
    UNION ALL
    SELECT dataset_id, 2
    FROM catalog.dataset_name
    WHERE name_id = %(dataset_id)s AND organisation_id = %(organisation)s
    UNION ALL
    SELECT named.dataset_id, 3
    FROM catalog.dataset_name_change change
    JOIN catalog.dataset_name named
        ON named.organisation_id = change.organisation_id
       AND named.namespace = change.into_namespace
       AND named.name = change.into_name
    WHERE change.former_id = %(dataset_id)s AND change.organisation_id = %(organisation)s
) found
ORDER BY place
LIMIT 1
