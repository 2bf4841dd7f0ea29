-- Set the dependencies of the scanned processes to the given ones; other dependencies of theirs end now.
WITH found AS MATERIALIZED (
    SELECT DISTINCT process.process_id, upstream_technology, upstream_instance, upstream_name, attribute, condition,
           orders
    FROM scanned_dependency
    JOIN catalog.process USING (technology, instance, external_name)
    WHERE process.organisation_id = %(organisation)s
), ended AS (
    UPDATE catalog.process_dependency old SET valid_to = now()
    FROM scanned_process
    JOIN catalog.process USING (technology, instance, external_name)
    WHERE process.organisation_id = %(organisation)s
      AND old.process_id = process.process_id
      AND old.valid_to IS NULL
      AND NOT EXISTS (
          SELECT FROM found
          WHERE (found.process_id, found.attribute, found.condition, found.upstream_technology,
                 found.upstream_instance, found.upstream_name)
              = (old.process_id, old.attribute, old.condition, old.upstream_technology,
                 old.upstream_instance, old.upstream_name)
      )
)
INSERT INTO catalog.process_dependency (
    organisation_id, process_id, upstream_technology, upstream_instance, upstream_name, attribute, condition, orders
)
SELECT %(organisation)s, process_id, upstream_technology, upstream_instance, upstream_name, attribute, condition, orders
FROM found
ON CONFLICT (process_id, attribute, condition, upstream_technology, upstream_instance, upstream_name)
    WHERE valid_to IS NULL DO NOTHING
