SELECT
  faa,
  name,
  lat AS latitude,
  lon AS longitude,
  alt AS altitude_feet,
  tz AS utc_offset_hours,
  dst AS daylight_saving,
  tzone AS zone
FROM raw_airports
