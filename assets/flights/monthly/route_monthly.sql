SELECT
  month,
  origin,
  destination,
  destination_name,
  count(*) AS carriers,
  sum(flights) AS flights,
  sum(cancelled) AS cancelled,
  avg(distance_miles) AS distance_miles,
  sum(arrival_delay_total) / nullif(sum(arrived), 0) AS arrival_delay_mean,
  sum(air_minutes_total) / nullif(sum(arrived), 0) AS air_minutes_mean
FROM route_flights
GROUP BY month, origin, destination, destination_name
