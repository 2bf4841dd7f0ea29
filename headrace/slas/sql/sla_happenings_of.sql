SELECT *
FROM catalog.happening
WHERE organisation_id = %(organisation)s AND incident_id = %(incident_id)s
ORDER BY transaction_id, happening_id
