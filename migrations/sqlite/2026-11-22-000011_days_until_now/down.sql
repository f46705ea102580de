DELETE FROM counters WHERE name LIKE 'payments/%';
