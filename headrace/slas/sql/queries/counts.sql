-- The number of objectives by the values of each filter, under the other filters; the `most` frequent values of each.
WITH objective AS (
    SELECT objective.state, objective.kind, catalog.domain_of(subject.key) AS domain, subject.owners,
           cardinality(%(states)s::text[]) = 0 OR objective.state = ANY (%(states)s) AS of_state,
           cardinality(%(kinds)s::text[]) = 0 OR objective.kind = ANY (%(kinds)s) AS of_kind,
           %(domain)s::text IS NULL OR catalog.domain_of(subject.key) = %(domain)s AS of_domain,
           %(owner)s::text IS NULL OR %(owner)s = ANY (subject.owners) AS of_owner
    FROM catalog.sla_objective objective
    CROSS JOIN LATERAL (
        SELECT full_name AS key, owners FROM catalog.dataset WHERE dataset_id = objective.dataset_id
        UNION ALL
        SELECT process_key, owners FROM catalog.process WHERE process_id = objective.process_id
    ) subject
    WHERE objective.organisation_id = %(organisation)s
), counted AS (
    SELECT 'state' AS filter, state AS value, count(*) AS count
    FROM objective WHERE of_kind AND of_domain AND of_owner GROUP BY state
    UNION ALL
    SELECT 'kind', kind, count(*) FROM objective WHERE of_state AND of_domain AND of_owner GROUP BY kind
    UNION ALL
    SELECT 'domain', domain, count(*) FROM objective WHERE of_state AND of_kind AND of_owner GROUP BY domain
    UNION ALL
    SELECT 'owner', owner, count(*)
    FROM objective CROSS JOIN unnest(owners) AS owner
    WHERE of_state AND of_kind AND of_domain GROUP BY owner
)
SELECT filter, value, count
FROM (
    SELECT counted.*, row_number() OVER (PARTITION BY filter ORDER BY count DESC, value) AS place FROM counted
) ranked
WHERE place <= %(most)s
ORDER BY filter, place
