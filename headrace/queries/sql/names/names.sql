-- The names of a dataset. A dataset that was never reported has the name of its key.
SELECT named.namespace, named.name,
       dataset.full_name = CASE
           WHEN named.namespace = 'headrace://' || organisation.name THEN named.name
           ELSE replace(named.namespace, '#', '%23') || '#' || named.name
       END AS canonical,
       named.kind
FROM catalog.dataset_name named
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.organisation ON organisation.organisation_id = dataset.organisation_id
WHERE named.dataset_id = %(dataset_id)s
UNION ALL
SELECT 'headrace://' || organisation.name, dataset.full_name, true, NULL
FROM catalog.dataset
JOIN catalog.organisation USING (organisation_id)
WHERE dataset.dataset_id = %(dataset_id)s
  AND position('#' IN dataset.full_name) = 0
  AND NOT EXISTS (
      SELECT FROM catalog.dataset_name known
      WHERE known.dataset_id = dataset.dataset_id
        AND known.namespace = 'headrace://' || organisation.name
        AND known.name = dataset.full_name
  )
ORDER BY canonical DESC, namespace, name
