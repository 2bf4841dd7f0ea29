-- Due notifications, locked until the transaction ends. `away`: destinations that do not respond.
SELECT * FROM catalog.notification
WHERE organisation_id = %(organisation)s AND state = 'PENDING' AND next_try_at <= %(now)s
  AND destination <> ALL (%(away)s)
ORDER BY next_try_at, notification_id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
