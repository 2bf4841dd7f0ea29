INSERT INTO catalog.candidate_evidence (
    candidate_id, process_id, direction, organisation_id, confidence, attribute, excerpt, line
)
SELECT candidate.candidate_id, process.process_id, direction, %(organisation)s, confidence, attribute, excerpt, line
FROM scanned_evidence
JOIN catalog.process USING (technology, instance, external_name)
JOIN catalog.dataset_candidate candidate USING (instance, pattern)
WHERE process.organisation_id = %(organisation)s AND candidate.organisation_id = %(organisation)s
