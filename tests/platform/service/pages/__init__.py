"""The pages: HTML over the application, as the browser of a signed-in user gets it."""
