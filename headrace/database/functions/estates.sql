-- Keys of processes of other systems.

-- Return the key of a process of another system: the short one, or the whole one where another process has the short
-- one. A process that has the whole key keeps it.
CREATE OR REPLACE FUNCTION catalog.external_key(
    of_organisation uuid, of_technology text, of_instance text, of_name text, short_key text, whole_key text
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN EXISTS (
        SELECT FROM catalog.process
        WHERE organisation_id = of_organisation
          AND process_key IN (short_key, whole_key)
          AND (process_key = whole_key
               OR (technology, instance, external_name) IS DISTINCT FROM (of_technology, of_instance, of_name))
    ) THEN whole_key ELSE short_key END
$$;
