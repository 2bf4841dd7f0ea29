-- Objectives are evaluated when the outage begins, whatever their next evaluation.
WITH sooner AS (
    UPDATE catalog.sla_objective SET next_at = least(next_at, %(begins_at)s)
    WHERE organisation_id = %(organisation)s AND next_at > %(begins_at)s AND next_at < 'infinity'
)
INSERT INTO catalog.planned_outage (organisation_id, subjects, begins_at, ends_at, reason, planned_by)
VALUES (%(organisation)s, %(subjects)s, %(begins_at)s, %(ends_at)s, %(reason)s, %(by)s)
RETURNING outage_id
