-- One row per carrier on a route in a month, which both outputs of the process add up.
SELECT
  CAST(trunc(flight_date, 'MM') AS date) AS month,
  origin,
  destination,
  destination_name,
  carrier,
  carrier_name,
  count(*) AS flights,
  count_if(status = 'cancelled') AS cancelled,
  count(arrival_delay) AS arrived,
  sum(arrival_delay) AS arrival_delay_total,
  sum(air_minutes) AS air_minutes_total,
  avg(distance_miles) AS distance_miles
FROM flights_enriched
GROUP BY trunc(flight_date, 'MM'), origin, destination, destination_name, carrier, carrier_name
