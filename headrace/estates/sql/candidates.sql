-- Candidates with the evidence of active processes, best first.
SELECT candidate.instance, candidate.pattern, candidate.status, dataset.full_name AS dataset, decided_by, decided_at,
       found.evidence
FROM catalog.dataset_candidate candidate
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT jsonb_agg(
        jsonb_build_array(
            external_name, process_key, direction, attribute, excerpt, confidence, place.file, place.line + evidence.line
        )
        ORDER BY confidence DESC, process_key, direction
    ) AS evidence
    FROM catalog.candidate_evidence evidence
    JOIN catalog.process USING (process_id)
    LEFT JOIN catalog.process_place place USING (process_id)
    WHERE evidence.candidate_id = candidate.candidate_id AND process.lifecycle <> 'RETIRED'
) found ON true
WHERE candidate.organisation_id = %(organisation)s
  AND (%(status)s::text IS NULL OR candidate.status = %(status)s)
  AND (candidate.status <> 'PENDING' OR found.evidence IS NOT NULL)
ORDER BY candidate.instance, candidate.pattern
