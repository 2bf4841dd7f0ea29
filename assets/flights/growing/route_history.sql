-- The airlines on contested routes in one month.
SELECT
  origin,
  destination,
  carrier,
  carrier_name
FROM route_carriers
