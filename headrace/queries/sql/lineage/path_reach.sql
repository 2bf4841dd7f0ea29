-- The nodes one step from any of some, with the data or against it, that the caller may see.
SELECT far
FROM (SELECT DISTINCT far FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s)) AS step
WHERE EXISTS (SELECT FROM catalog.dataset WHERE dataset_id = far)
   OR EXISTS (SELECT FROM catalog.process WHERE process_id = far)
