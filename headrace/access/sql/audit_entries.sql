SELECT audit_id, at, subject, action, object_type, object, detail, request_id
FROM catalog.audit_entry
WHERE organisation_id = %(organisation)s
  AND (%(subject)s::text IS NULL OR subject = %(subject)s)
  AND (%(object)s::text IS NULL OR object = %(object)s OR object = (
      SELECT dataset_id::text FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(object)s))
  AND (%(before)s::bigint IS NULL OR audit_id < %(before)s)
ORDER BY audit_id DESC
LIMIT %(limit)s
