-- The facets of a use are in the events of the run themselves, which keep all of them; under names that stand for files of
-- ours, and of a run whose events are archived, those that are kept with the use.
WITH said AS (
    SELECT DISTINCT ON (use.role, named.name_id, facet.name) use.role, named.name_id, facet.name, facet.content
    FROM catalog.openlineage_run run
    JOIN catalog.process USING (process_id)
    JOIN catalog.run_event event
        ON event.organisation_id = run.organisation_id
       AND event.run_id = run.reported_run_id
       AND event.process_key = process.process_key
    CROSS JOIN LATERAL (
        SELECT 'INPUT' AS role, item, item -> 'inputFacets' AS facets
        FROM jsonb_path_query(event.payload_json, '$.inputs[*]') AS item
        UNION ALL
        SELECT 'OUTPUT', item, item -> 'outputFacets'
        FROM jsonb_path_query(event.payload_json, '$.outputs[*]') AS item
    ) use
    JOIN catalog.dataset_name named
        ON named.organisation_id = run.organisation_id
       AND named.namespace = use.item ->> 'namespace'
       AND named.name = use.item ->> 'name'
    CROSS JOIN LATERAL jsonb_each(use.facets) AS facet (name, content)
    WHERE run.run_id = %(run_id)s AND jsonb_typeof(use.facets) = 'object'
    ORDER BY use.role, named.name_id, facet.name, event.event_time DESC, event.content_hash DESC
)
SELECT used.role, dataset.dataset_id, dataset.full_name AS key, used.version, nullif(used.partition_key, '') AS partition,
       used.facets || coalesce(
           (SELECT jsonb_object_agg(name, content) FROM said WHERE said.role = used.role AND said.name_id = used.name_id), '{}'
       ) AS facets
FROM catalog.run_dataset used
JOIN catalog.dataset_name named USING (name_id)
JOIN catalog.dataset ON dataset.dataset_id = named.dataset_id
WHERE used.run_id = %(run_id)s
ORDER BY used.role, dataset.full_name
