SELECT
  carrier,
  name
FROM raw_airlines
