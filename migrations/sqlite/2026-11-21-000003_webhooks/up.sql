-- Where merchants are told. A removed endpoint stays as long as deliveries refer to it, and is seen by nobody.
CREATE TABLE webhook_endpoints (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('admin', 'in_request')),
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    description TEXT,
    sealed_secret TEXT,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason TEXT,
    failing_since INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX webhook_endpoints_by_id ON webhook_endpoints (id);
CREATE INDEX webhook_endpoints_of_tenant ON webhook_endpoints (merchant_id, environment, source, id)
    WHERE removed_at IS NULL;
CREATE UNIQUE INDEX webhook_endpoints_named ON webhook_endpoints (merchant_id, environment, url)
    WHERE source = 'in_request' AND removed_at IS NULL;
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since)
    WHERE failing_since IS NOT NULL;
CREATE INDEX webhook_endpoints_removed ON webhook_endpoints (removed_at) WHERE removed_at IS NOT NULL;

-- What is owed, and what became of it: status 0 is pending, 1 delivered, 2 failed. `node` has a pending one in hand; where
-- nobody has, it may be claimed from `due_at` on. A healthy delivery is inserted and updated once, and is in
-- no index but its key and, while it is in hand, `deliveries_in_hand`.
CREATE TABLE deliveries (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    status INTEGER NOT NULL CHECK (status IN (0, 1, 2)),
    due_at INTEGER,
    node TEXT,
    step INTEGER NOT NULL,
    attempts TEXT,
    error TEXT,
    CHECK ((status = 0) = (due_at IS NOT NULL)),
    CHECK (status = 0 OR node IS NULL)
) STRICT;
CREATE UNIQUE INDEX deliveries_key ON deliveries (merchant_id, environment, endpoint_id, event_id);
CREATE INDEX deliveries_failed ON deliveries (merchant_id, environment, endpoint_id, event_id) WHERE status = 2;
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, due_at) WHERE status = 0 AND node IS NULL;
CREATE INDEX deliveries_by_time ON deliveries (due_at) WHERE status = 0 AND node IS NULL;
CREATE INDEX deliveries_in_hand ON deliveries (endpoint_id, event_id) WHERE node IS NOT NULL;

-- A replaced default secret signs on beside its successor until its time is over.
ALTER TABLE merchants ADD COLUMN former_secret_test TEXT;
ALTER TABLE merchants ADD COLUMN former_until_test INTEGER;
ALTER TABLE merchants ADD COLUMN former_secret_live TEXT;
ALTER TABLE merchants ADD COLUMN former_until_live INTEGER;
