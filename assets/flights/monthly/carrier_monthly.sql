SELECT
  CAST(trunc(flight_date, 'MM') AS date) AS month,
  carrier,
  carrier_name,
  sum(flights) AS flights,
  sum(cancelled) AS cancelled,
  sum(diverted) AS diverted,
  sum(departed) AS departed,
  sum(departed_late) AS departed_late,
  -- A carrier that cancelled everything has no delay, not a delay of zero.
  sum(departure_delay_total) / nullif(sum(departed), 0) AS departure_delay_mean,
  sum(arrival_delay_total) / nullif(sum(arrived), 0) AS arrival_delay_mean,
  1 - sum(departed_late) / nullif(sum(departed), 0) AS punctuality
FROM daily_delays
GROUP BY trunc(flight_date, 'MM'), carrier, carrier_name
