-- Set the objects of each kind in the scan to exactly these; kinds that the scan does not contain are unchanged.
WITH found AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(objects)s) AS item (kind text, name text, file text, line integer, source text)
), gone AS (
    DELETE FROM catalog.estate_object old
    WHERE old.organisation_id = %(organisation)s
      AND old.instance = %(instance)s
      AND old.kind IN (SELECT kind FROM found)
      AND NOT EXISTS (SELECT FROM found WHERE (found.kind, found.name) = (old.kind, old.name))
)
INSERT INTO catalog.estate_object AS known (organisation_id, instance, kind, name, file, line, source)
SELECT %(organisation)s, %(instance)s, kind, name, file, line, source FROM found
ON CONFLICT (organisation_id, instance, kind, name) DO UPDATE
    SET file = excluded.file, line = excluded.line, source = excluded.source
    WHERE (known.file, known.line, known.source) IS DISTINCT FROM (excluded.file, excluded.line, excluded.source)
