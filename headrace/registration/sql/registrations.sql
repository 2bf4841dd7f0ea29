SELECT reg_id AS registration_id, dataset_id, full_name AS dataset, submitted_by, submitted_at, registration.status, requested,
       objections, reviewer, review_comment AS comment, reviewed_at
FROM catalog.dataset_registration registration
JOIN catalog.dataset USING (dataset_id)
WHERE registration.organisation_id = %(organisation)s
  AND (%(reg_id)s::uuid IS NULL OR reg_id = %(reg_id)s)
  AND (%(status)s::text IS NULL OR registration.status = %(status)s)
  AND (%(before_at)s::timestamptz IS NULL OR (submitted_at, reg_id) < (%(before_at)s, %(before_id)s::uuid))
ORDER BY submitted_at DESC, reg_id DESC
LIMIT %(limit)s
