-- What is missing from the counters of days. One statement sees the payments and the counters at one moment, and what it finds
-- missing is added to whatever others have counted since, so that nodes go on meanwhile.
INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
    SELECT merchant_id, environment, name, key1, key2, key3, key4, SUM(count)
    FROM (
        SELECT merchant_id, environment,
            'payments/' || to_char(to_timestamp(created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS name,
            status AS key1, type AS key2, method AS key3, currency AS key4, COUNT(*) AS count
        FROM payments GROUP BY 1, 2, 3, 4, 5, 6, 7
        UNION ALL
        SELECT merchant_id, environment, name, key1, key2, key3, key4, -count FROM counters WHERE name LIKE 'payments/%'
    ) AS counted
    GROUP BY merchant_id, environment, name, key1, key2, key3, key4
    HAVING SUM(count) <> 0
    ORDER BY merchant_id, environment, name, key1, key2, key3, key4
    ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
    DO UPDATE SET count = counters.count + excluded.count;
