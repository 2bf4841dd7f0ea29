DELETE FROM catalog.unreported_version unreported
WHERE organisation_id = %(organisation)s
  AND NOT EXISTS (
      SELECT FROM catalog.published_pointer pointer WHERE pointer.dataset_version_id = unreported.dataset_version_id
  )
