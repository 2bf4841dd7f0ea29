"""Routes for datasets: search and details, rows and columns, versions, registrations, and what owners do with them."""
