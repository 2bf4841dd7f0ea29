-- The number of datasets and processes by state, and the few that changed to it last.
SELECT state, count(*) AS count, (array_agg(key ORDER BY since DESC, key))[:%(few)s] AS keys
FROM (
    SELECT objective.state, coalesce(dataset.full_name, process.process_key) AS key, max(objective.since) AS since
    FROM catalog.sla_objective objective
    LEFT JOIN catalog.dataset USING (dataset_id)
    LEFT JOIN catalog.process ON process.process_id = objective.process_id
    WHERE objective.organisation_id = %(organisation)s AND objective.state = ANY (%(states)s)
    GROUP BY 1, 2
) objective
GROUP BY state
