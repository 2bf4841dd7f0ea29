-- Every flight once, with what is known about its carrier, aircraft, destination and the weather at departure. All
-- joins keep the flight: four Caribbean destinations are missing from airports, many registrations from planes, and
-- some hours from the weather.
WITH scheduled AS (
  SELECT
    flights_clean.*,
    airports.name AS destination_name,
    -- Minutes from gate to gate: the clock at arrival less the clock at departure, less what the two clocks differ
    -- by. Both clocks are compared at departure; a flight in the air while they change is an hour out.
    pmod(
      (scheduled_arrival_hhmm DIV 100 - scheduled_departure_hhmm DIV 100) * 60
      + scheduled_arrival_hhmm % 100 - scheduled_departure_hhmm % 100
      - (
        unix_seconds(from_utc_timestamp(scheduled_departure_at, airports.zone))
        - unix_seconds(from_utc_timestamp(scheduled_departure_at, 'America/New_York'))
      ) DIV 60,
      1440
    ) AS scheduled_minutes
  FROM flights_clean
  LEFT JOIN airports ON airports.faa = flights_clean.destination
)

SELECT
  scheduled.flight_date,
  scheduled.carrier,
  airlines.name AS carrier_name,
  scheduled.flight,
  scheduled.origin,
  scheduled.destination,
  scheduled.destination_name,
  scheduled.tailnum,
  planes.model AS aircraft_model,
  planes.seats AS aircraft_seats,
  planes.built AS aircraft_built,
  scheduled.status,
  scheduled.scheduled_departure_at,
  scheduled.departed_at,
  scheduled.departure_delay,
  scheduled.scheduled_departure_at + make_dt_interval(0, 0, CAST(scheduled.scheduled_minutes AS int))
    AS scheduled_arrival_at,
  scheduled.scheduled_departure_at
    + make_dt_interval(0, 0, CAST(scheduled.scheduled_minutes AS int) + scheduled.arrival_delay) AS arrived_at,
  scheduled.arrival_delay,
  scheduled.air_minutes,
  scheduled.distance_miles,
  weather_hourly.temperature_f,
  weather_hourly.wind_mph,
  weather_hourly.gust_mph,
  weather_hourly.precipitation_inches,
  weather_hourly.visibility_miles
FROM scheduled
LEFT JOIN airlines ON airlines.carrier = scheduled.carrier
LEFT JOIN planes ON planes.tailnum = scheduled.tailnum
LEFT JOIN weather_hourly
  ON weather_hourly.origin = scheduled.origin
  AND weather_hourly.observed_at = scheduled.scheduled_hour_at
