"""`headrace alerts`: list, show and acknowledge alerts; test routes and destinations."""
