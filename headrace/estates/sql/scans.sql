-- Stored scans, newest first, before (time, id).
SELECT scan_id, instance, scanned_by, scanned_at, counts
FROM catalog.estate_scan
WHERE organisation_id = %(organisation)s
  AND (%(before_at)s::timestamptz IS NULL OR (scanned_at, scan_id) < (%(before_at)s, %(before_id)s::uuid))
ORDER BY scanned_at DESC, scan_id DESC
LIMIT %(limit)s
