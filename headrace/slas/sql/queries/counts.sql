-- The number of objectives by the values of each filter, under the other filters; the `most` frequent values of each.
WITH objective AS MATERIALIZED (
    -- Grouped first: there are far fewer combinations than objectives.
    SELECT objective.state, objective.kind, catalog.domain_of(coalesce(full_name, process_key)) AS domain,
           coalesce(dataset.owners, process.owners) AS owners, count(*) AS number
    FROM catalog.sla_objective objective
    LEFT JOIN catalog.dataset USING (dataset_id)
    LEFT JOIN catalog.process USING (process_id)
    WHERE objective.organisation_id = %(organisation)s AND coalesce(full_name, process_key) IS NOT NULL
    GROUP BY 1, 2, 3, 4
), judged AS (
    SELECT *,
           cardinality(%(states)s::text[]) = 0 OR state = ANY (%(states)s) AS of_state,
           cardinality(%(kinds)s::text[]) = 0 OR kind = ANY (%(kinds)s) AS of_kind,
           %(domain)s::text IS NULL OR domain = %(domain)s AS of_domain,
           %(owner)s::text IS NULL OR %(owner)s = ANY (owners) AS of_owner
    FROM objective
), counted AS (
    SELECT 'state' AS filter, state AS value, sum(number) AS count
    FROM judged WHERE of_kind AND of_domain AND of_owner GROUP BY state
    UNION ALL
    SELECT 'kind', kind, sum(number) FROM judged WHERE of_state AND of_domain AND of_owner GROUP BY kind
    UNION ALL
    SELECT 'domain', domain, sum(number) FROM judged WHERE of_state AND of_kind AND of_owner GROUP BY domain
    UNION ALL
    SELECT 'owner', owner, sum(number)
    FROM judged CROSS JOIN unnest(owners) AS owner
    WHERE of_state AND of_kind AND of_domain GROUP BY owner
)
SELECT filter, value, count::bigint
FROM (
    SELECT counted.*, row_number() OVER (PARTITION BY filter ORDER BY count DESC, value) AS place FROM counted
) ranked
WHERE place <= %(most)s
ORDER BY filter, place
