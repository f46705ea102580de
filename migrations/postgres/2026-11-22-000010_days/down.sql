DROP TRIGGER payments_are_counted_by_day ON payments;
DROP FUNCTION count_payment_by_day();
DELETE FROM counters WHERE name LIKE 'payments/%';
