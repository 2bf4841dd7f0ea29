"""PostgreSQL: connections, migrations, SQL files, locks, and the principal that row-level security sees."""
