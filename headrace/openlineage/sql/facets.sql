-- Stores facets that are newer than the stored ones. Returns which of them have different content (`changed`), and for
-- which datasets a schema was reported earlier than known.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(facets)s) AS item (
        subject_type text, subject_id uuid, name text, at timestamptz, first_at timestamptz, digest text, content jsonb,
        modelled boolean, deleted boolean
    )
), same AS MATERIALIZED (
    SELECT item.subject_type, item.subject_id, item.name
    FROM item
    JOIN catalog.facet known USING (subject_type, subject_id, name)
    WHERE (known.content, known.modelled, known.deleted) = (item.content, item.modelled, item.deleted)
      -- For a dataset with several names, a repeated report of one may now be newer than that of another.
      AND (item.subject_type <> 'DATASET' OR (
          SELECT count(*)
          FROM catalog.dataset_name own
          JOIN catalog.dataset_name other USING (dataset_id)
          WHERE own.name_id = item.subject_id
      ) = 1)
), kept AS (
    INSERT INTO catalog.facet AS known (
        subject_type, subject_id, name, organisation_id, at, digest, content, modelled, deleted
    )
    SELECT subject_type, subject_id, name, %(organisation)s, at, digest, content, modelled, deleted
    FROM item
    ON CONFLICT (subject_type, subject_id, name) DO UPDATE SET
        at = excluded.at,
        digest = excluded.digest,
        content = excluded.content,
        modelled = excluded.modelled,
        deleted = excluded.deleted
    WHERE (excluded.at, excluded.digest) > (known.at, known.digest)
    RETURNING subject_type, subject_id, name
)
SELECT subject_type, subject_id, name, true AS changed
FROM (
    SELECT subject_type, subject_id, name FROM kept
    EXCEPT ALL
    SELECT subject_type, subject_id, name FROM same
) changed
UNION ALL
SELECT item.subject_type, item.subject_id, item.name, false
FROM item
JOIN catalog.facet known USING (subject_type, subject_id, name)
WHERE item.name = 'schema'
  AND (item.at <= known.at AND item.content <> known.content
       OR item.first_at < (
           SELECT max(stored.created_at)
           FROM catalog.dataset_name own
           JOIN catalog.dataset_schema stored USING (dataset_id)
           WHERE own.name_id = item.subject_id AND stored.column_order = 1
       ))
