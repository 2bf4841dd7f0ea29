-- Delete the chosen runs, with all rows by run; their roll-ups by day stay, and the producers of versions.
WITH gone AS MATERIALIZED (
    SELECT run.* FROM pg_temp.chosen_run JOIN catalog.process_run run USING (run_id, start_ts)
), summed AS (
    INSERT INTO catalog.run_day AS known (
        process_id, day, state, organisation_id, runs, attempts, timed, seconds, longest, run_ids, run_attempts,
        run_seconds
    )
    SELECT process_id, (start_ts AT TIME ZONE 'UTC')::date, status, organisation_id, count(*), sum(greatest(attempt, 1)),
           count(end_ts), coalesce(sum(extract(epoch FROM end_ts - start_ts)), 0), max(extract(epoch FROM end_ts - start_ts)),
           array_agg(run_id ORDER BY run_id), array_agg(greatest(attempt, 1) ORDER BY run_id),
           array_agg(extract(epoch FROM end_ts - start_ts)::double precision ORDER BY run_id)
    FROM gone
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (process_id, day, state) DO UPDATE SET
        runs = known.runs + excluded.runs,
        attempts = known.attempts + excluded.attempts,
        timed = known.timed + excluded.timed,
        seconds = known.seconds + excluded.seconds,
        longest = greatest(known.longest, excluded.longest),
        run_ids = known.run_ids || excluded.run_ids,
        run_attempts = known.run_attempts || excluded.run_attempts,
        run_seconds = known.run_seconds || excluded.run_seconds
), makers AS (
    INSERT INTO catalog.archived_run AS known (run_id, organisation_id, process_id, start_ts)
    SELECT DISTINCT ON (run_id) run_id, organisation_id, process_id, start_ts
    FROM gone
    WHERE EXISTS (SELECT FROM catalog.dataset_version version WHERE version.produced_by_run_id = gone.run_id)
    ORDER BY run_id, start_ts DESC
    ON CONFLICT (run_id) DO UPDATE SET start_ts = greatest(known.start_ts, excluded.start_ts)
), completions AS (
    DELETE FROM catalog.completion ended
    USING gone
    WHERE ended.organisation_id = gone.organisation_id AND ended.run_id = gone.run_id
), inputs AS (
    DELETE FROM catalog.run_input input USING gone WHERE input.run_id = gone.run_id
), attempts AS (
    DELETE FROM catalog.run_attempt attempt USING gone WHERE attempt.run_id = gone.run_id
), reported AS (
    DELETE FROM catalog.openlineage_run reported
    USING gone
    WHERE reported.organisation_id = gone.organisation_id AND reported.run_id = gone.run_id
), used AS (
    DELETE FROM catalog.run_dataset used
    USING gone
    WHERE used.organisation_id = gone.organisation_id AND used.run_id = gone.run_id
), tested AS (
    DELETE FROM catalog.dataset_assertion tested
    USING gone
    WHERE tested.organisation_id = gone.organisation_id AND tested.run_id = gone.run_id
), measured AS (
    DELETE FROM catalog.dataset_metrics measured
    USING gone
    WHERE measured.organisation_id = gone.organisation_id AND measured.run_id = gone.run_id
)
DELETE FROM catalog.process_run run
USING gone
WHERE run.run_id = gone.run_id AND run.start_ts = gone.start_ts
