-- Lists by status, type, method or currency find their rows in one index, whatever lies between them.
CREATE INDEX payments_by_class ON payments (merchant_id, environment, status, type, method, currency, id);
