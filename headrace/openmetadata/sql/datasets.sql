-- Datasets with their columns, the newest published version's or else the declared ones. datasets: null for all.
SELECT dataset.dataset_id, full_name AS key, namespace, name, description, default_format AS format, owners, tags, status,
       partitions, project, declared_at,
       coalesce(field.columns, '[]') AS columns, dataset.columns AS declared,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'name', def.name, 'kind', kind, 'column', column_name, 'parameters', parameters, 'severity', severity,
               'description', def.description) ORDER BY def.name)
           FROM catalog.quality_check_def def
           WHERE def.dataset_id = dataset.dataset_id AND def.retired_at IS NULL), '[]') AS checks
FROM catalog.dataset
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('name', field.name, 'type', field.type, 'nullable', field.nullable,
                                        'description', field.description) ORDER BY field.position) AS columns
    FROM catalog.dataset_field field
    WHERE field.dataset_id = dataset.dataset_id
) field ON true
WHERE dataset.organisation_id = %(organisation)s
  AND (%(datasets)s::uuid[] IS NULL OR dataset.dataset_id = ANY (%(datasets)s))
ORDER BY full_name
