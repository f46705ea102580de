-- Lists by status, type, method or currency find payments in a table of their own and no longer in an index of payments: an
-- update that touches no indexed column of a payment is written beside the old version, and no other index has to be told.
-- Nodes write these rows in their commits; for nodes of an earlier release, which know nothing of it, the server does.
LOCK TABLE payments IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE payment_classes (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    -- Such as `completed/deposit/spei/MXN`. One column is compared faster than four.
    class TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (merchant_id, environment, class, id)
);
INSERT INTO payment_classes (merchant_id, environment, class, id)
    SELECT merchant_id, environment, status || '/' || type || '/' || method || '/' || currency AS class, id FROM payments
    ORDER BY merchant_id, environment, class, id;
CREATE FUNCTION keep_payment_class() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE payment_classes
            SET class = NEW.status || '/' || NEW.type || '/' || NEW.method || '/' || NEW.currency
            WHERE merchant_id = OLD.merchant_id AND environment = OLD.environment
                AND class = OLD.status || '/' || OLD.type || '/' || OLD.method || '/' || OLD.currency AND id = OLD.id;
    ELSE
        INSERT INTO payment_classes (merchant_id, environment, class, id)
            VALUES (NEW.merchant_id, NEW.environment,
                NEW.status || '/' || NEW.type || '/' || NEW.method || '/' || NEW.currency, NEW.id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER payments_are_classed AFTER INSERT OR UPDATE OF status ON payments FOR EACH ROW
    WHEN (current_setting('quipu.keeps_classes', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION keep_payment_class();
