CREATE INDEX payments_by_status ON payments (merchant_id, environment, status, id);
