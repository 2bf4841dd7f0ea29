-- Messages whose time has come, kept from others until the transaction ends. `away`: destinations that do not answer.
SELECT * FROM catalog.alert_message
WHERE organisation_id = %(organisation)s AND state = 'WAITING' AND next_try_at <= %(now)s
  AND destination <> ALL (%(away)s)
ORDER BY next_try_at, message_id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
