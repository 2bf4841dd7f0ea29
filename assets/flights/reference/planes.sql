-- American Airlines (AA) and Envoy Air (MQ) send fleet numbers in place of registrations, so that most of their
-- flights find no row here, and a few find the light aircraft of another owner.
SELECT
  tailnum,
  year AS built,
  type AS kind,
  manufacturer,
  model,
  engine,
  engines,
  seats,
  speed AS cruise_mph
FROM raw_planes
