-- What rails told, each event once: its name is the rail's and its own. An event that names no payment belongs to merchant 0.
CREATE TABLE callbacks (
    name TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    rail TEXT NOT NULL,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    rail_reference TEXT NOT NULL,
    payment_id TEXT,
    amount INTEGER,
    currency TEXT,
    code TEXT,
    message TEXT,
    occurred_at INTEGER,
    outcome TEXT NOT NULL,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX callbacks_of_payment ON callbacks (merchant_id, environment, payment_id, received_at)
    WHERE payment_id IS NOT NULL;

-- What no payment could follow, parked until a person decides.
CREATE TABLE receipts (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    payment_id TEXT,
    rail TEXT NOT NULL,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    rail_reference TEXT NOT NULL,
    amount INTEGER,
    currency TEXT,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    resolution TEXT,
    resolved_at INTEGER,
    revision INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT;
CREATE UNIQUE INDEX receipts_by_id ON receipts (id);
CREATE INDEX receipts_of_payment ON receipts (merchant_id, environment, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX receipts_open ON receipts (id) WHERE resolution IS NULL;

CREATE TABLE refunds (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    reason TEXT,
    ticket_id TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX refunds_of_payment ON refunds (merchant_id, environment, payment_id, id);

-- Payments that somebody should look at.
CREATE TABLE alerts (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    alerted_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, payment_id)
) STRICT, WITHOUT ROWID;

-- Files for the bank, and which withdrawal is in which: in one file only.
CREATE TABLE bank_exports (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    currency TEXT NOT NULL,
    method TEXT NOT NULL,
    partner INTEGER NOT NULL CHECK (partner IN (0, 1)),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE bank_export_payments (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    export_id TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, payment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_export_payments_of_file ON bank_export_payments (merchant_id, environment, export_id, payment_id);

-- Rails and the operator know a payment by its identifier alone.
CREATE UNIQUE INDEX payments_by_id ON payments (id);
-- Who did what to one thing, in the order of time.
CREATE INDEX audit_log_of_subject ON audit_log (subject, at, id);
