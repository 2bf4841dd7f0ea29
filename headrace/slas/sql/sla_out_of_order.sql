-- How many datasets and processes stand so, of each of some states, and the few that have come to it last.
SELECT state, count(*) AS count, (array_agg(key ORDER BY since DESC, key))[:%(few)s] AS keys
FROM (
    SELECT promise.state, coalesce(dataset.full_name, process.process_key) AS key, max(promise.since) AS since
    FROM catalog.sla_promise promise
    LEFT JOIN catalog.dataset USING (dataset_id)
    LEFT JOIN catalog.process ON process.process_id = promise.process_id
    WHERE promise.organisation_id = %(organisation)s AND promise.state = ANY (%(states)s)
    GROUP BY 1, 2
) standing
GROUP BY state
