-- Happenings that nothing was decided about yet, in the order in which they happened to be stored. One reader at a time.
SELECT * FROM catalog.happening
WHERE organisation_id = %(organisation)s AND told_at IS NULL
ORDER BY transaction_id, happening_id
LIMIT %(limit)s
FOR UPDATE
