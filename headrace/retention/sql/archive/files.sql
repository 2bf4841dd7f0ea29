-- The files with rows of a kind from [since, until), those with the newest rows first.
SELECT file_id, kind, month, location, first_ts, last_ts, row_count, byte_size
FROM catalog.archive_file
WHERE organisation_id = %(organisation)s
  AND kind = %(kind)s
  AND state = 'KEPT'
  AND last_ts >= %(since)s
  AND first_ts < %(until)s
ORDER BY last_ts DESC, file_id
