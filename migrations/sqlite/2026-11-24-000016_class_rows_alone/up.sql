-- SQLite changes only the index that holds the status, so it keeps the index by class. PostgreSQL has rows for it instead.
SELECT 1;
