-- Times in the feed are local numbers, HHMM: departures on New York's clock, arrivals on the destination's, midnight
-- written 2400. Only time_hour, the scheduled hour of departure in UTC, is an instant; the other instants follow from
-- it and from the delays, which also places a departure that slipped past midnight on the right day.
SELECT
  make_date(year, month, day) AS flight_date,
  carrier,
  flight,
  origin,
  dest AS destination,
  tailnum,
  CASE
    WHEN dep_time IS NULL THEN 'cancelled'
    -- Some diverted flights reach their destination in the end and then have an arrival time, but never an arrival
    -- delay or a time in the air.
    WHEN arr_delay IS NULL THEN 'diverted'
    ELSE 'flown'
  END AS status,
  time_hour AS scheduled_hour_at,
  time_hour + make_dt_interval(0, 0, minute) AS scheduled_departure_at,
  time_hour + make_dt_interval(0, 0, minute + dep_delay) AS departed_at,
  sched_dep_time % 2400 AS scheduled_departure_hhmm,
  dep_time % 2400 AS departure_hhmm,
  dep_delay AS departure_delay,
  sched_arr_time % 2400 AS scheduled_arrival_hhmm,
  arr_time % 2400 AS arrival_hhmm,
  arr_delay AS arrival_delay,
  air_time AS air_minutes,
  distance AS distance_miles
FROM raw_flights
