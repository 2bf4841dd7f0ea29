-- Keeps the facets that are newer than what is there, and says which of them say something else.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(facets)s) AS item (
        subject_type text, subject_id uuid, name text, at timestamptz, digest text, content jsonb, modelled boolean,
        deleted boolean
    )
), same AS MATERIALIZED (
    SELECT item.subject_type, item.subject_id, item.name
    FROM item
    JOIN catalog.facet known USING (subject_type, subject_id, name)
    WHERE (known.content, known.modelled, known.deleted) = (item.content, item.modelled, item.deleted)
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
SELECT subject_type, subject_id, name FROM kept
EXCEPT ALL
SELECT subject_type, subject_id, name FROM same
