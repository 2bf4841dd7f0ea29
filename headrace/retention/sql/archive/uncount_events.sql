-- Subtract events that leave the archive from its counts.
WITH item AS (
    SELECT * FROM jsonb_to_recordset(%(counts)s) AS item (day date, event_type text, events bigint)
), less AS (
    UPDATE catalog.event_day known
    SET events = known.events - item.events
    FROM item
    WHERE known.organisation_id = %(organisation)s AND known.day = item.day AND known.event_type = item.event_type
      AND known.events > item.events
)
DELETE FROM catalog.event_day known
USING item
WHERE known.organisation_id = %(organisation)s AND known.day = item.day AND known.event_type = item.event_type
  AND known.events <= item.events
