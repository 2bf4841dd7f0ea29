SELECT source_id, target_id
FROM catalog.lineage_edge
WHERE organisation_id = %(organisation)s AND valid_to IS NULL AND edge_role IN ('CONSUMES', 'PRODUCES', 'DERIVES')
UNION
SELECT upstream.process_id, dependency.process_id
FROM catalog.process_dependency dependency
JOIN catalog.process upstream
    ON upstream.organisation_id = dependency.organisation_id
   AND upstream.technology = dependency.upstream_technology
   AND upstream.instance = dependency.upstream_instance
   AND upstream.external_name = dependency.upstream_name
WHERE dependency.organisation_id = %(organisation)s AND dependency.valid_to IS NULL AND dependency.orders
