-- Instants are Unix milliseconds, money is minor units, and every key begins with the merchant, so that a merchant's
-- rows lie together. WITHOUT ROWID is for rows that are short and found by their whole key only.

CREATE TABLE merchants (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    api_version TEXT NOT NULL,
    status TEXT NOT NULL,
    success_url TEXT,
    cancel_url TEXT,
    sealed_secret_test TEXT NOT NULL,
    sealed_secret_live TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX merchants_by_age ON merchants (created_at, id);

CREATE TABLE api_keys (
    key_id TEXT NOT NULL PRIMARY KEY,
    merchant_id INTEGER NOT NULL REFERENCES merchants (id),
    environment TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    scopes TEXT NOT NULL,
    rate_limits TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, created_at);

CREATE TABLE hmac_credentials (
    credential_id TEXT NOT NULL PRIMARY KEY,
    merchant_id INTEGER NOT NULL REFERENCES merchants (id),
    environment TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,
    rate_limits TEXT NOT NULL,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX hmac_credentials_of_merchant ON hmac_credentials (merchant_id, created_at);

CREATE TABLE routes (
    merchant_id INTEGER NOT NULL REFERENCES merchants (id),
    environment TEXT NOT NULL,
    currency TEXT NOT NULL,
    method TEXT NOT NULL,
    direction TEXT NOT NULL,
    partner INTEGER NOT NULL CHECK (partner IN (0, 1)),
    document TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, currency, method, direction, partner)
) STRICT, WITHOUT ROWID;

CREATE TABLE beneficiaries (
    merchant_id INTEGER NOT NULL REFERENCES merchants (id),
    environment TEXT NOT NULL,
    id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    iban TEXT NOT NULL,
    swift TEXT,
    beneficiary_name TEXT NOT NULL,
    beneficiary_bank TEXT,
    address TEXT,
    reference TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX beneficiaries_by_age ON beneficiaries (merchant_id, created_at, environment, id);

CREATE TABLE operators (
    operator_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE audit_log (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    actor_id TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    action TEXT NOT NULL,
    merchant_id INTEGER,
    subject TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
) STRICT;
CREATE INDEX audit_log_by_age ON audit_log (at, id);
CREATE INDEX audit_log_of_merchant ON audit_log (merchant_id, at, id);

CREATE TABLE customers (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id INTEGER NOT NULL,
    email TEXT,
    phone TEXT,
    name TEXT,
    email_key TEXT,
    phone_key TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX customers_by_email ON customers (merchant_id, environment, email_key)
    WHERE email_key IS NOT NULL;
CREATE INDEX customers_by_phone ON customers (merchant_id, environment, phone_key, id)
    WHERE phone_key IS NOT NULL;
-- Two requests that name nobody but the same telephone number must not make two customers.
CREATE UNIQUE INDEX customers_by_phone_alone ON customers (merchant_id, environment, phone_key)
    WHERE email_key IS NULL AND phone_key IS NOT NULL;

CREATE TABLE payments (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    method TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    fee INTEGER NOT NULL,
    merchant_reference TEXT NOT NULL,
    holds_reference INTEGER NOT NULL CHECK (holds_reference IN (0, 1)),
    customer_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    status_version INTEGER NOT NULL CHECK (status_version > 0),
    rail TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    completed_at INTEGER,
    refunded_amount INTEGER NOT NULL CHECK (refunded_amount >= 0),
    received_amount INTEGER,
    late INTEGER NOT NULL CHECK (late IN (0, 1)),
    due_at INTEGER,
    due_action TEXT,
    webhook_url TEXT,
    document TEXT NOT NULL
) STRICT;
-- A rowid table with a narrow key beside it: a deep OFFSET skips over the key and never touches the documents.
CREATE UNIQUE INDEX payments_key ON payments (merchant_id, environment, id);
CREATE UNIQUE INDEX payments_holding_reference ON payments (merchant_id, environment, merchant_reference)
    WHERE holds_reference;
-- References come in no order, so each payment is in one of these two indexes and not in a third over both.
CREATE INDEX payments_past_reference ON payments (merchant_id, environment, merchant_reference, id)
    WHERE NOT holds_reference;
CREATE INDEX payments_by_status ON payments (merchant_id, environment, status, id);
CREATE INDEX payments_by_customer ON payments (merchant_id, environment, customer_id, id);
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE payment_counts (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    status TEXT NOT NULL,
    type TEXT NOT NULL,
    method TEXT NOT NULL,
    currency TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, status, type, method, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE balances (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    currency TEXT NOT NULL,
    available INTEGER NOT NULL,
    frozen INTEGER NOT NULL,
    deposit INTEGER NOT NULL,
    withdrawal INTEGER NOT NULL,
    commission INTEGER NOT NULL,
    adjustment INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, currency),
    CHECK (available >= 0 AND frozen >= 0),
    CHECK (available + frozen + withdrawal + commission = deposit + adjustment)
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    line INTEGER NOT NULL,
    currency TEXT NOT NULL,
    account TEXT NOT NULL,
    amount INTEGER NOT NULL,
    reason TEXT NOT NULL,
    payment_id TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, transaction_id, line)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    payment_id TEXT,
    type TEXT NOT NULL,
    status_version INTEGER,
    previous_status TEXT,
    status TEXT,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_key ON events (merchant_id, environment, id);
CREATE INDEX events_of_payment ON events (merchant_id, environment, payment_id, status_version)
    WHERE payment_id IS NOT NULL;

CREATE TABLE kept_answers (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    audience TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    payment_id TEXT,
    status INTEGER NOT NULL,
    sealed_body TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX kept_answers_key ON kept_answers (merchant_id, environment, audience, key);
CREATE INDEX kept_answers_by_age ON kept_answers (expires_at);

CREATE TABLE nonces (
    merchant_id INTEGER NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX nonces_key ON nonces (merchant_id, value);
CREATE INDEX nonces_by_age ON nonces (expires_at);

CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER audit_log_is_never_updated BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE (ABORT, 'the audit log is never changed'); END;
CREATE TRIGGER audit_log_is_never_deleted BEFORE DELETE ON audit_log
BEGIN SELECT RAISE (ABORT, 'the audit log is never changed'); END;
