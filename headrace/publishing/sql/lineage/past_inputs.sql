-- A draft for each unknown name of an undeclared input, under the id that it has when an event reports it first.
WITH item AS (
    SELECT item.*
    FROM jsonb_to_recordset(%(past)s) AS item (name_id uuid, namespace text, name text, key text)
    WHERE NOT EXISTS (SELECT FROM catalog.dataset_name known WHERE known.name_id = item.name_id)
), made AS (
    INSERT INTO catalog.dataset (
        dataset_id, organisation_id, namespace, name, full_name, default_format, owners, tags, columns, status,
        metadata_json, declaration_hash
    )
    SELECT name_id, %(organisation)s, namespace, name, key, 'unknown', '{}', '{}', '[]', 'DRAFT', '{"external": true}', ''
    FROM item
    ORDER BY name_id
    ON CONFLICT DO NOTHING
)
INSERT INTO catalog.dataset_name (organisation_id, namespace, name, name_id, dataset_id, reported)
SELECT %(organisation)s, item.namespace, item.name, item.name_id, coalesce(known.dataset_id, item.name_id), true
FROM item
LEFT JOIN catalog.dataset known ON known.organisation_id = %(organisation)s AND known.full_name = item.key
ORDER BY item.name_id
ON CONFLICT DO NOTHING
