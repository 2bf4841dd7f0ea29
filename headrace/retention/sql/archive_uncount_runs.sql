-- Subtract runs that leave the archive from its roll-ups. longest: of the remaining ones.
WITH item AS (
    SELECT * FROM jsonb_to_recordset(%(sums)s) AS item (
        process_id uuid, day date, state text, runs bigint, attempts bigint, timed bigint, seconds double precision,
        longest double precision
    )
), less AS (
    UPDATE catalog.run_day known
    SET runs = known.runs - item.runs, attempts = known.attempts - item.attempts, timed = known.timed - item.timed,
        seconds = known.seconds - item.seconds, longest = item.longest
    FROM item
    WHERE known.process_id = item.process_id AND known.day = item.day AND known.state = item.state
      AND known.runs > item.runs
)
DELETE FROM catalog.run_day known
USING item
WHERE known.process_id = item.process_id AND known.day = item.day AND known.state = item.state
  AND known.runs <= item.runs
