-- What rails told, each event once: its name is the rail's and its own. An event that names no payment belongs to merchant 0.
CREATE TABLE callbacks (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL,
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    rail TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    rail_reference TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C",
    amount BIGINT,
    currency TEXT COLLATE "C",
    code TEXT COLLATE "C",
    message TEXT COLLATE "C",
    occurred_at BIGINT,
    outcome TEXT COLLATE "C" NOT NULL,
    received_at BIGINT NOT NULL
);
CREATE INDEX callbacks_of_payment ON callbacks (merchant_id, environment, payment_id, received_at)
    WHERE payment_id IS NOT NULL;

-- What no payment could follow, parked until a person decides.
CREATE TABLE receipts (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C",
    rail TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    rail_reference TEXT COLLATE "C" NOT NULL,
    amount BIGINT,
    currency TEXT COLLATE "C",
    reason TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    resolution TEXT COLLATE "C",
    resolved_at BIGINT,
    revision BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE UNIQUE INDEX receipts_by_id ON receipts (id);
CREATE INDEX receipts_of_payment ON receipts (merchant_id, environment, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX receipts_open ON receipts (id) WHERE resolution IS NULL;

CREATE TABLE refunds (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    reason TEXT COLLATE "C",
    ticket_id TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE INDEX refunds_of_payment ON refunds (merchant_id, environment, payment_id, id);

-- Payments that somebody should look at.
CREATE TABLE alerts (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C" NOT NULL,
    alerted_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, payment_id)
);

-- Files for the bank, and which withdrawal is in which: in one file only.
CREATE TABLE bank_exports (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    method TEXT COLLATE "C" NOT NULL,
    partner BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE TABLE bank_export_payments (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C" NOT NULL,
    export_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (merchant_id, environment, payment_id)
);
CREATE INDEX bank_export_payments_of_file ON bank_export_payments (merchant_id, environment, export_id, payment_id);

-- Rails and the operator know a payment by its identifier alone.
CREATE UNIQUE INDEX payments_by_id ON payments (id);
-- Who did what to one thing, in the order of time.
CREATE INDEX audit_log_of_subject ON audit_log (subject, at, id);
