-- Totals are kept with the means, so that a month's mean is exact rather than a mean of means.
SELECT
  flight_date,
  origin,
  carrier,
  carrier_name,
  count(*) AS flights,
  count_if(status = 'cancelled') AS cancelled,
  count_if(status = 'diverted') AS diverted,
  count(departure_delay) AS departed,
  sum(departure_delay) AS departure_delay_total,
  avg(departure_delay) AS departure_delay_mean,
  -- The US Department of Transportation counts a flight as late from fifteen minutes on.
  count_if(departure_delay >= 15) AS departed_late,
  count(arrival_delay) AS arrived,
  sum(arrival_delay) AS arrival_delay_total,
  avg(arrival_delay) AS arrival_delay_mean
FROM flights_enriched
GROUP BY flight_date, origin, carrier, carrier_name
