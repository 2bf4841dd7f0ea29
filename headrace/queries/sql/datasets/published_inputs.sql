-- The versions that the published versions of some unpartitioned datasets were made from.
SELECT dataset.full_name AS dataset, used.input_version_id
FROM catalog.dataset
JOIN catalog.published_pointer pointer USING (dataset_id)
JOIN catalog.version_input used USING (dataset_version_id)
WHERE dataset.organisation_id = %(organisation)s AND dataset.full_name = ANY (%(keys)s) AND pointer.partition_key = ''
