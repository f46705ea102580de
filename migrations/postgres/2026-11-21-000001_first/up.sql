-- Instants are Unix milliseconds, money is minor units, and every key begins with the merchant, so that a merchant's
-- rows lie together. Texts that are keys are compared byte by byte (COLLATE "C"), like the application compares them.

CREATE TABLE merchants (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    api_version TEXT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    success_url TEXT,
    cancel_url TEXT,
    sealed_secret_test TEXT NOT NULL,
    sealed_secret_live TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX merchants_by_age ON merchants (created_at, id);

CREATE TABLE api_keys (
    key_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    merchant_id BIGINT NOT NULL REFERENCES merchants (id),
    environment TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    scopes TEXT NOT NULL,
    rate_limits TEXT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, created_at);

CREATE TABLE hmac_credentials (
    credential_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    merchant_id BIGINT NOT NULL REFERENCES merchants (id),
    environment TEXT COLLATE "C" NOT NULL,
    sealed_secret TEXT NOT NULL,
    rate_limits TEXT NOT NULL,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX hmac_credentials_of_merchant ON hmac_credentials (merchant_id, created_at);

CREATE TABLE routes (
    merchant_id BIGINT NOT NULL REFERENCES merchants (id),
    environment TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    method TEXT COLLATE "C" NOT NULL,
    direction TEXT COLLATE "C" NOT NULL,
    partner BOOLEAN NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, currency, method, direction, partner)
);

CREATE TABLE beneficiaries (
    merchant_id BIGINT NOT NULL REFERENCES merchants (id),
    environment TEXT COLLATE "C" NOT NULL,
    id INTEGER NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    iban TEXT NOT NULL,
    swift TEXT,
    beneficiary_name TEXT NOT NULL,
    beneficiary_bank TEXT,
    address TEXT,
    reference TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE INDEX beneficiaries_by_age ON beneficiaries (merchant_id, created_at, environment, id);

CREATE TABLE operators (
    operator_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE audit_log (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    actor_id TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    action TEXT NOT NULL,
    merchant_id BIGINT,
    subject TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
);
CREATE INDEX audit_log_by_age ON audit_log (at, id);
CREATE INDEX audit_log_of_merchant ON audit_log (merchant_id, at, id);

CREATE TABLE customers (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    email TEXT,
    phone TEXT,
    name TEXT,
    email_key TEXT COLLATE "C",
    phone_key TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE UNIQUE INDEX customers_by_email ON customers (merchant_id, environment, email_key)
    WHERE email_key IS NOT NULL;
CREATE INDEX customers_by_phone ON customers (merchant_id, environment, phone_key, id)
    WHERE phone_key IS NOT NULL;
-- Two requests that name nobody but the same telephone number must not make two customers.
CREATE UNIQUE INDEX customers_by_phone_alone ON customers (merchant_id, environment, phone_key)
    WHERE email_key IS NULL AND phone_key IS NOT NULL;

CREATE TABLE payments (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    method TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    fee BIGINT NOT NULL,
    merchant_reference TEXT COLLATE "C" NOT NULL,
    holds_reference BOOLEAN NOT NULL,
    customer_id BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    status_version INTEGER NOT NULL CHECK (status_version > 0),
    rail TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT,
    completed_at BIGINT,
    refunded_amount BIGINT NOT NULL CHECK (refunded_amount >= 0),
    received_amount BIGINT,
    late BOOLEAN NOT NULL,
    due_at BIGINT,
    due_action TEXT COLLATE "C",
    webhook_url TEXT,
    document TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE UNIQUE INDEX payments_holding_reference ON payments (merchant_id, environment, merchant_reference)
    WHERE holds_reference;
-- References come in no order, so each payment is in one of these two indexes and not in a third over both.
CREATE INDEX payments_past_reference ON payments (merchant_id, environment, merchant_reference, id)
    WHERE NOT holds_reference;
CREATE INDEX payments_by_status ON payments (merchant_id, environment, status, id);
CREATE INDEX payments_by_customer ON payments (merchant_id, environment, customer_id, id);
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE payment_counts (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    method TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, status, type, method, currency)
);

CREATE TABLE balances (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    available BIGINT NOT NULL,
    frozen BIGINT NOT NULL,
    deposit BIGINT NOT NULL,
    withdrawal BIGINT NOT NULL,
    commission BIGINT NOT NULL,
    adjustment BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, currency),
    CHECK (available >= 0 AND frozen >= 0),
    CHECK (available + frozen + withdrawal + commission = deposit + adjustment)
);

CREATE TABLE entries (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    line INTEGER NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, transaction_id, line)
);

CREATE TABLE events (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C",
    type TEXT COLLATE "C" NOT NULL,
    status_version INTEGER,
    previous_status TEXT COLLATE "C",
    status TEXT COLLATE "C",
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE INDEX events_of_payment ON events (merchant_id, environment, payment_id, status_version)
    WHERE payment_id IS NOT NULL;

CREATE TABLE kept_answers (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    audience TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    body_hash TEXT NOT NULL,
    payment_id TEXT COLLATE "C",
    status INTEGER NOT NULL,
    sealed_body TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, audience, key)
);
CREATE INDEX kept_answers_by_age ON kept_answers (expires_at);

CREATE TABLE nonces (
    merchant_id BIGINT NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, value)
);
CREATE INDEX nonces_by_age ON nonces (expires_at);

-- A few rows that every batch writes: room on their pages keeps each new version beside the old one, with no index to touch.
ALTER TABLE balances SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE payment_counts SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is never changed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END;
$$;
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_is_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
