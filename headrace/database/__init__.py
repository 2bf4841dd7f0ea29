"""PostgreSQL: connections, migrations, SQL files, locks, and the principal for row-level security."""
