INSERT INTO catalog.dataset_schema AS known (
    dataset_id, schema_hash, column_order, organisation_id, column_name, column_type, nullable, column_metadata, created_at
)
SELECT DISTINCT ON (named.dataset_id, item.schema_hash, col.position)
       named.dataset_id, item.schema_hash, col.position, %(organisation)s::uuid, col.item ->> 'name', col.item ->> 'type',
       (col.item ->> 'nullable')::boolean, col.item - '{name,type,nullable}'::text[], item.at
FROM jsonb_to_recordset(%(schemas)s) AS item (name_id uuid, schema_hash text, at timestamptz, columns jsonb)
JOIN catalog.dataset_name named USING (name_id)
LEFT JOIN catalog.dataset_schema first
    ON first.dataset_id = named.dataset_id AND first.schema_hash = item.schema_hash AND first.column_order = 1
CROSS JOIN LATERAL jsonb_array_elements(item.columns) WITH ORDINALITY AS col (item, position)
WHERE first.created_at IS NULL OR first.created_at > item.at
ORDER BY named.dataset_id, item.schema_hash, col.position, item.at
ON CONFLICT (dataset_id, schema_hash, column_order) DO UPDATE SET created_at = excluded.created_at
WHERE known.created_at > excluded.created_at
