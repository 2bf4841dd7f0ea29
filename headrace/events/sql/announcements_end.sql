DELETE FROM catalog.announcement WHERE organisation_id = %(organisation)s AND completion_id = ANY (%(completions)s)
