-- Processes of other systems by technology and instance: how many are known from scans, have datasets, and have reported
-- runs.
SELECT technology, instance, count(*) AS processes,
       count(*) FILTER (WHERE lifecycle = 'UNSCANNED') AS unscanned,
       count(*) FILTER (WHERE EXISTS (
           SELECT FROM catalog.lineage_edge edge
           WHERE edge.process_id = process.process_id AND edge.edge_role IN ('PRODUCES', 'CONSUMES')
             AND edge.valid_to IS NULL)) AS with_datasets,
       count(*) FILTER (WHERE EXISTS (
           SELECT FROM catalog.process_run run WHERE run.process_id = process.process_id)) AS with_runs,
       count(*) FILTER (WHERE owners <> '{}') AS with_owners
FROM catalog.process
WHERE organisation_id = %(organisation)s AND technology <> 'SPARK' AND lifecycle <> 'RETIRED'
GROUP BY technology, instance
ORDER BY technology, instance
