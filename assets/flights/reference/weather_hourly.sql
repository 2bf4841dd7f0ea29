-- year, month, day and hour are New York's clock, on which 1 a.m. of 3 November comes twice. time_hour is the same
-- hour in UTC and never repeats, so it is the key.
SELECT
  origin,
  time_hour AS observed_at,
  make_date(year, month, day) AS local_date,
  temp AS temperature_f,
  dewp AS dew_point_f,
  humid AS humidity_percent,
  wind_dir AS wind_degrees,
  wind_speed AS wind_mph,
  wind_gust AS gust_mph,
  precip AS precipitation_inches,
  pressure AS pressure_mbar,
  visib AS visibility_miles
FROM raw_weather
