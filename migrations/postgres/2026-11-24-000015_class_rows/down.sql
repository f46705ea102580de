DROP TRIGGER payments_are_classed ON payments;
DROP FUNCTION keep_payment_class;
DROP TABLE payment_classes;
