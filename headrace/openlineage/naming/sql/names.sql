INSERT INTO catalog.dataset_name AS known (
    organisation_id, namespace, name, name_id, dataset_id, reported, renamed, preferred, kind
)
SELECT %(organisation)s, namespace, name, name_id, dataset_id, reported, renamed, preferred, kind
FROM jsonb_to_recordset(%(names)s) AS item (
    namespace text, name text, name_id uuid, dataset_id uuid, reported boolean, renamed boolean, preferred boolean, kind text
)
ORDER BY name_id
ON CONFLICT (organisation_id, namespace, name) DO UPDATE SET
    dataset_id = excluded.dataset_id,
    reported = excluded.reported,
    renamed = excluded.renamed,
    preferred = excluded.preferred,
    kind = excluded.kind
WHERE (known.dataset_id, known.reported, known.renamed, known.preferred, known.kind)
    IS DISTINCT FROM (excluded.dataset_id, excluded.reported, excluded.renamed, excluded.preferred, excluded.kind)
