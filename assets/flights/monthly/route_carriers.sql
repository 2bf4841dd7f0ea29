-- Carriers side by side on the routes that more than one of them flies; rank 1 arrives earliest on average. A carrier
-- none of whose flights arrived is ranked last.
WITH contested AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY month, origin, destination) AS carriers
  FROM route_flights
)

SELECT
  month,
  origin,
  destination,
  carrier,
  carrier_name,
  flights,
  arrival_delay_total / nullif(arrived, 0) AS arrival_delay_mean,
  rank() OVER (
    PARTITION BY month, origin, destination
    ORDER BY arrival_delay_total / nullif(arrived, 0) ASC NULLS LAST
  ) AS punctuality_rank
FROM contested
WHERE carriers > 1
