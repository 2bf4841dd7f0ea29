DELETE FROM catalog.dataset_name WHERE organisation_id = %(organisation)s
