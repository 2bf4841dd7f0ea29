-- It was decided what these come to.
UPDATE catalog.happening SET told_at = %(now)s
WHERE organisation_id = %(organisation)s AND happening_id = ANY (%(happenings)s)
