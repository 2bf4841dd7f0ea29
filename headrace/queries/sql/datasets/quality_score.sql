-- The results of the checks of a dataset's newest versions, and the outcomes of its deadlines since a time. A check weighs
-- as much as `blocking` if its failure blocks a version, and 1 otherwise.
WITH newest AS (
    SELECT dataset_version_id
    FROM catalog.dataset_version
    WHERE dataset_id = %(dataset_id)s
    ORDER BY produced_at DESC, dataset_version_id
    LIMIT %(versions)s
), result AS (
    SELECT result.dataset_version_id, result.status = 'PASS' AS passed,
           CASE WHEN def.severity = 'ERROR' AND NOT def.quarantine THEN %(blocking)s ELSE 1 END AS weight
    FROM newest
    JOIN catalog.quality_check_result result USING (dataset_version_id)
    LEFT JOIN catalog.quality_check_def def ON def.dataset_id = %(dataset_id)s AND def.name = result.name
), checked AS (
    SELECT count(DISTINCT dataset_version_id) AS versions, count(*) AS results, count(*) FILTER (WHERE passed) AS passed,
           coalesce(sum(weight), 0) AS weight, coalesce(sum(weight) FILTER (WHERE passed), 0) AS passed_weight
    FROM result
), due AS (
    SELECT count(*) AS deadlines, count(*) FILTER (WHERE outcome = 'MET') AS met,
           count(*) FILTER (WHERE outcome = 'MET_LATE') AS met_late
    FROM catalog.sla_outcome
    WHERE subject_id = %(dataset_id)s AND deadline >= %(since)s AND outcome <> 'PAUSED'
)
SELECT versions, results, passed, weight, passed_weight, deadlines, met, met_late FROM checked CROSS JOIN due
