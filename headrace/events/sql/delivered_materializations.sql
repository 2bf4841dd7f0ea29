DELETE FROM catalog.pending_materialization WHERE organisation_id = %(organisation)s AND completion_id = ANY (%(completions)s)
