-- For each dataset, the results of the checks of its newest versions, and the outcomes of its deadlines since a time. A
-- check weighs as much as `blocking` if its failure blocks a version, and 1 otherwise.
SELECT asked.dataset_id, versions, results, passed, weight, passed_weight, deadlines, met, met_late
FROM unnest(%(dataset_ids)s::uuid[]) AS asked (dataset_id)
CROSS JOIN LATERAL (
    SELECT count(DISTINCT result.dataset_version_id) AS versions, count(*) AS results,
           count(*) FILTER (WHERE passed) AS passed,
           coalesce(sum(result.weight), 0) AS weight, coalesce(sum(result.weight) FILTER (WHERE passed), 0) AS passed_weight
    FROM (
        SELECT newest.dataset_version_id, result.status = 'PASS' AS passed,
               CASE WHEN def.severity = 'ERROR' AND NOT def.quarantine THEN %(blocking)s ELSE 1 END AS weight
        FROM (
            SELECT dataset_version_id
            FROM catalog.dataset_version version
            WHERE version.dataset_id = asked.dataset_id
            ORDER BY produced_at DESC, dataset_version_id
            LIMIT %(versions)s
        ) newest
        JOIN catalog.quality_check_result result USING (dataset_version_id)
        LEFT JOIN catalog.quality_check_def def ON def.dataset_id = asked.dataset_id AND def.name = result.name
    ) result
) checked
CROSS JOIN LATERAL (
    SELECT count(*) AS deadlines, count(*) FILTER (WHERE outcome = 'MET') AS met,
           count(*) FILTER (WHERE outcome = 'MET_LATE') AS met_late
    FROM catalog.sla_outcome
    WHERE subject_id = asked.dataset_id AND deadline >= %(since)s AND outcome <> 'PAUSED'
) due
