-- Payments are counted by the day they were made on as well, under names such as `payments/2026-01-31`. Nodes count in their
-- commits; for nodes of an earlier release, which know nothing of it, the server does. It counts at the end of their
-- transaction, behind the locks on the other counters that every node takes first.
CREATE FUNCTION count_payment_by_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.status = OLD.status THEN
            RETURN NULL;
        END IF;
        INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
            VALUES (OLD.merchant_id, OLD.environment,
                'payments/' || to_char(to_timestamp(OLD.created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
                OLD.status, OLD.type, OLD.method, OLD.currency, -1)
            ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
            DO UPDATE SET count = counters.count + excluded.count;
    END IF;
    INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
        VALUES (NEW.merchant_id, NEW.environment,
            'payments/' || to_char(to_timestamp(NEW.created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
            NEW.status, NEW.type, NEW.method, NEW.currency, 1)
        ON CONFLICT (merchant_id, environment, name, key1, key2, key3, key4)
        DO UPDATE SET count = counters.count + excluded.count;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER payments_are_counted_by_day AFTER INSERT OR UPDATE OF status ON payments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('quipu.counts_days', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION count_payment_by_day();
