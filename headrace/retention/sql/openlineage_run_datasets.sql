-- The facets of a use are in the events of the run, all of which are kept: in the tables, and in the archive; under
-- names of Headrace's own files, those stored with the use. `used`: the uses of an archived run.
WITH stated AS (
    SELECT DISTINCT ON (use.role, named.name_id, facet.name) use.role, named.name_id, facet.name, facet.content
    FROM (
        SELECT event_time, content_hash, payload_json
        FROM catalog.run_event
        WHERE organisation_id = %(organisation)s AND run_id = %(reported)s AND process_key = %(process)s
        UNION ALL
        SELECT * FROM jsonb_to_recordset(%(archived)s) AS item (event_time timestamptz, content_hash text, payload_json jsonb)
    ) event
    CROSS JOIN LATERAL (
        SELECT 'INPUT' AS role, item, item -> 'inputFacets' AS facets
        FROM jsonb_path_query(event.payload_json, '$.inputs[*]') AS item
        UNION ALL
        SELECT 'OUTPUT', item, item -> 'outputFacets'
        FROM jsonb_path_query(event.payload_json, '$.outputs[*]') AS item
    ) use
    JOIN catalog.dataset_name named
        ON named.organisation_id = %(organisation)s
       AND named.namespace = use.item ->> 'namespace'
       AND named.name = use.item ->> 'name'
    CROSS JOIN LATERAL jsonb_each(use.facets) AS facet (name, content)
    WHERE jsonb_typeof(use.facets) = 'object'
    ORDER BY use.role, named.name_id, facet.name, event.event_time DESC, event.content_hash DESC
), used AS (
    SELECT role, name_id, version, partition_key, facets FROM catalog.run_dataset WHERE run_id = %(run_id)s
    UNION ALL
    SELECT *
    FROM jsonb_to_recordset(%(used)s) AS item (role text, name_id uuid, version text, partition_key text, facets jsonb)
)
SELECT used.role, dataset.dataset_id, dataset.full_name AS key, used.version, nullif(used.partition_key, '') AS partition,
       used.facets || coalesce(
           (SELECT jsonb_object_agg(name, content) FROM stated WHERE stated.role = used.role AND stated.name_id = used.name_id), '{}'
       ) AS facets
FROM used
JOIN catalog.dataset_name named USING (name_id)
JOIN catalog.dataset ON dataset.dataset_id = named.dataset_id
ORDER BY used.role, dataset.full_name
