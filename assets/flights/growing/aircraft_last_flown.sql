-- Flights that left with a known aircraft; of each aircraft, the last one is kept.
SELECT
  tailnum,
  carrier,
  flight,
  origin,
  destination,
  departed_at
FROM flights_clean
WHERE tailnum IS NOT NULL AND departed_at IS NOT NULL
