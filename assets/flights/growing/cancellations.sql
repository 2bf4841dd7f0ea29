-- Flights that never left.
SELECT
  flight_date,
  carrier,
  flight,
  origin,
  destination,
  scheduled_departure_at
FROM flights_clean
WHERE status = 'cancelled'
