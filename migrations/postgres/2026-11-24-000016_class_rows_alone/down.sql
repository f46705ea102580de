CREATE INDEX payments_by_class ON payments (merchant_id, environment, status, type, method, currency, id);
ALTER TABLE payments RESET (fillfactor);
