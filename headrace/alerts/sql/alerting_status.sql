-- The status of alerting: open alerts, undecided events and overdue notifications, and since when.
SELECT
    (SELECT count(*) FROM catalog.alert WHERE organisation_id = %(organisation)s AND state = 'OPEN') AS open,
    (SELECT count(*) FROM catalog.alert WHERE organisation_id = %(organisation)s AND state = 'ACKNOWLEDGED') AS acknowledged,
    (SELECT count(*) FROM catalog.alert_event WHERE organisation_id = %(organisation)s AND processed_at IS NULL) AS undecided,
    pending.overdue, pending.oldest, pending.reason,
    (SELECT count(*) FROM catalog.notification
     WHERE organisation_id = %(organisation)s AND state = 'FAILED' AND due_at > %(now)s - interval '2 days') AS failed
FROM (
    SELECT count(*) AS overdue, min(due_at) AS oldest, max(reason) AS reason
    FROM catalog.notification
    WHERE organisation_id = %(organisation)s AND state = 'PENDING' AND tries > 0
) pending
