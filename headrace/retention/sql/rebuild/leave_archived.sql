-- Archived runs stay in the archive only, and so do reports on datasets without a run.
WITH gone AS MATERIALIZED (
    SELECT run_id FROM pg_temp.archived_run_id
    EXCEPT
    SELECT run_id FROM pg_temp.live_run_id
), run AS (
    DELETE FROM catalog.openlineage_run run USING gone
    WHERE run.organisation_id = %(organisation)s AND run.run_id = gone.run_id
), completion AS (
    DELETE FROM catalog.completion ended USING gone
    WHERE ended.organisation_id = %(organisation)s AND ended.run_id = gone.run_id
), alone AS (
    DELETE FROM catalog.completion registered
    WHERE registered.organisation_id = %(organisation)s
      AND registered.run_id IS NULL
      AND NOT EXISTS (
          SELECT FROM catalog.pending_materialization pending
          WHERE pending.organisation_id = registered.organisation_id AND pending.event_key = registered.event_key
      )
      AND NOT EXISTS (
          SELECT
          FROM catalog.run_event event
          WHERE event.source = 'SCHEDULER'
            AND event.organisation_id = registered.organisation_id
            AND event.content_hash = encode(sha256(convert_to(registered.event_key, 'UTF8')), 'hex')
      )
), attempt AS (
    DELETE FROM catalog.run_attempt attempt USING gone
    WHERE attempt.organisation_id = %(organisation)s AND attempt.run_id = gone.run_id
), process_run AS (
    DELETE FROM catalog.process_run run USING gone
    WHERE run.organisation_id = %(organisation)s AND run.run_id = gone.run_id
), used AS (
    DELETE FROM catalog.run_dataset used USING gone
    WHERE used.organisation_id = %(organisation)s AND used.run_id = gone.run_id
), tested AS (
    DELETE FROM catalog.dataset_assertion tested USING gone
    WHERE tested.organisation_id = %(organisation)s AND tested.run_id = gone.run_id
)
DELETE FROM catalog.dataset_metrics measured USING gone
WHERE measured.organisation_id = %(organisation)s AND measured.run_id = gone.run_id
