-- Takes away the rows of runs that have another id now; they are written anew under that.
WITH attempt AS (
    DELETE FROM catalog.run_attempt WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
), used AS (
    DELETE FROM catalog.run_dataset WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
), told AS (
    DELETE FROM catalog.openlineage_run WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
)
DELETE FROM catalog.process_run WHERE organisation_id = %(organisation)s AND run_id = ANY (%(runs)s::uuid[])
