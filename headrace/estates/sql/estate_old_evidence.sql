DELETE FROM catalog.candidate_evidence old
USING scanned_process
JOIN catalog.process USING (technology, instance, external_name)
WHERE process.organisation_id = %(organisation)s AND old.process_id = process.process_id
