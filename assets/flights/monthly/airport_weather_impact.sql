-- Visibility in the classes of US aviation, by visibility alone: the feed has no cloud ceiling.
WITH observed AS (
  SELECT
    CAST(trunc(flight_date, 'MM') AS date) AS month,
    origin,
    CASE
      WHEN visibility_miles IS NULL THEN 'unobserved'
      WHEN visibility_miles < 1 THEN 'LIFR'
      WHEN visibility_miles < 3 THEN 'IFR'
      WHEN visibility_miles <= 5 THEN 'MVFR'
      ELSE 'VFR'
    END AS visibility,
    status,
    departure_delay
  FROM flights_enriched
)

SELECT
  month,
  origin,
  visibility,
  count(*) AS flights,
  count_if(status = 'cancelled') AS cancelled,
  avg(departure_delay) AS departure_delay_mean,
  count_if(departure_delay >= 15) AS departed_late
FROM observed
GROUP BY month, origin, visibility
