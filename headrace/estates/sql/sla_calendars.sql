-- The business calendars of an instance; SLAs whose calendar has changed are compiled again.
WITH given AS MATERIALIZED (
    SELECT name, ARRAY (SELECT jsonb_array_elements_text(days)::date) AS days
    FROM jsonb_to_recordset(%(calendars)s) AS item (name text, days jsonb)
), changed AS (
    INSERT INTO catalog.business_calendar AS known (organisation_id, instance, name, days)
    SELECT %(organisation)s, %(instance)s, name, days FROM given ORDER BY name
    ON CONFLICT (organisation_id, name, instance) DO UPDATE SET days = excluded.days
        WHERE known.days <> excluded.days
    RETURNING name
)
UPDATE catalog.sla SET updated_at = clock_timestamp()
WHERE organisation_id = %(organisation)s
  AND (definition ->> 'calendar' IN (SELECT name FROM changed)
       OR EXISTS (
           SELECT
           FROM jsonb_array_elements(coalesce(definition -> 'complete_by', '[]') || coalesce(definition -> 'start_by', '[]')) AS clock
           WHERE clock ->> 'calendar' IN (SELECT name FROM changed) OR clock ->> 'exclude_calendar' IN (SELECT name FROM changed)
       ))
