-- Apply the terms in the table `given` of this transaction to objectives that exist with other terms, or end them.
-- A deadline that the new terms have too goes on: missed, it stays late; not yet due, its delivery still counts. Any other
-- one is withdrawn: a breach is settled as MISSED, so that an edit does not erase it. Returns the incidents that lose an
-- objective.
WITH changed AS MATERIALIZED (
    SELECT objective.*, given.sla_id IS NOT NULL AS stays,
           CASE WHEN dataset.status = 'RETIRED' THEN 'the dataset was retired'
                WHEN process.lifecycle = 'RETIRED' THEN 'the process was retired'
                ELSE 'the SLA was changed' END AS why, given.definition AS new_definition, given.settled AS new_settled,
           given.before AS new_before,
           CASE WHEN objective.definition -> 'partition' IS DISTINCT FROM given.definition::jsonb -> 'partition'
                  OR objective.definition -> 'within_seconds' IS DISTINCT FROM given.definition::jsonb -> 'within_seconds'
                THEN 'WITHDRAWN'
                WHEN objective.state = 'LATE' AND objective.deadline = given.settled THEN 'LATE'
                WHEN objective.deadline = given.deadline THEN 'PENDING'
                ELSE 'WITHDRAWN'
           END AS fate
    FROM catalog.sla_objective objective
    LEFT JOIN catalog.dataset USING (dataset_id)
    LEFT JOIN catalog.process ON process.process_id = objective.process_id
    LEFT JOIN pg_temp.given
      ON (given.sla_id, given.kind, given.ordinal) = (objective.sla_id, objective.kind, objective.ordinal)
    WHERE objective.sla_id = ANY (%(slas)s) AND given.definition::jsonb IS DISTINCT FROM objective.definition
), wrong AS (
    SELECT * FROM changed WHERE fate = 'WITHDRAWN' AND state IN ('AT_RISK', 'LATE', 'MISSED')
), outcomes AS (
    INSERT INTO catalog.sla_outcome (
        organisation_id, subject_id, kind, ordinal, deadline, dataset_id, process_id, partition_key, outcome
    )
    SELECT organisation_id, coalesce(dataset_id, process_id), kind, ordinal, deadline, dataset_id, process_id, partition_key,
           'MISSED'
    FROM wrong
    WHERE state = 'LATE' AND deadline IS NOT NULL
    ON CONFLICT DO NOTHING
), changes AS (
    INSERT INTO catalog.sla_change (
        organisation_id, dataset_id, process_id, kind, ordinal, state, before, at, detected_at, deadline, partition_key, reason
    )
    SELECT organisation_id, dataset_id, process_id, kind, ordinal, CASE state WHEN 'LATE' THEN 'MISSED' ELSE 'UNKNOWN' END,
           state, %(now)s, %(now)s, deadline, partition_key,
           why
           || CASE state WHEN 'LATE' THEN ' ' || date_trunc('second', %(now)s - deadline) || ' after this deadline' ELSE '' END
    FROM wrong
), moved AS (
    UPDATE catalog.sla_objective objective
    SET definition = changed.new_definition::jsonb,
        settled = CASE changed.fate WHEN 'LATE' THEN changed.new_before ELSE changed.new_settled END,
        opens_at = CASE changed.fate WHEN 'LATE' THEN changed.new_before ELSE changed.new_settled END,
        deadline = CASE WHEN changed.fate <> 'WITHDRAWN' THEN objective.deadline END,
        met_at = CASE changed.fate WHEN 'PENDING' THEN objective.met_at END,
        state = CASE WHEN wrong.objective_id IS NULL THEN objective.state ELSE 'UNKNOWN' END,
        since = CASE WHEN wrong.objective_id IS NULL THEN objective.since ELSE %(now)s END,
        reason = CASE WHEN wrong.objective_id IS NULL THEN objective.reason ELSE changed.why END,
        incident_id = CASE WHEN wrong.objective_id IS NULL THEN objective.incident_id END
    FROM changed LEFT JOIN wrong USING (objective_id)
    WHERE objective.objective_id = changed.objective_id AND changed.stays
)
SELECT DISTINCT incident_id FROM wrong WHERE incident_id IS NOT NULL
