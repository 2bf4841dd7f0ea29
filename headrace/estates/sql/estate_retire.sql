WITH retired AS (
    UPDATE catalog.process SET lifecycle = 'RETIRED', updated_at = now()
    FROM unnest(%(technologies)s::text[], %(names)s::text[]) AS gone (technology, external_name)
    WHERE process.organisation_id = %(organisation)s
      AND process.technology = gone.technology
      AND process.external_name = gone.external_name
      AND process.instance = CASE gone.technology WHEN 'AUTOSYS' THEN %(instance)s ELSE '' END
    RETURNING process_id
)
UPDATE catalog.process_dependency old SET valid_to = now()
FROM retired
WHERE old.process_id = retired.process_id AND old.valid_to IS NULL
