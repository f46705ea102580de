-- Payments are counted by the day they were made on as well, under names such as `payments/2026-01-31`.
INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
    SELECT merchant_id, environment, 'payments/' || date(created_at / 1000, 'unixepoch'), status, type, method, currency,
        COUNT(*)
    FROM payments GROUP BY 1, 2, 3, 4, 5, 6, 7;
