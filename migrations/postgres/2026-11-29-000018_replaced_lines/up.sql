-- Only SQLite can replace a row in an insertion.
SELECT 1;
