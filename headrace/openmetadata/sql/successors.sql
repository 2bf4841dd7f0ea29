-- The datasets that continue these, which were renamed or merged.
SELECT DISTINCT ON (change.former_id) change.former_id, named.dataset_id
FROM catalog.dataset_name_change change
JOIN catalog.dataset_name named
    ON named.organisation_id = change.organisation_id
   AND named.namespace = change.into_namespace AND named.name = change.into_name
WHERE change.organisation_id = %(organisation)s AND change.former_id = ANY (%(datasets)s)
ORDER BY change.former_id, change.change_id DESC
