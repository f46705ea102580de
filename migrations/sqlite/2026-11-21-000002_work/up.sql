-- What must happen later is a row of one table. `due_at` is when it may be claimed; a claim moves it to the end of its lease,
-- so that the index finds only what nobody has. `due_since` is when it became due, and `turn` grows with every writing: a
-- claim is good for the turn that it made.
CREATE TABLE work (
    queue TEXT NOT NULL,
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    subject TEXT NOT NULL,
    action TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    due_since INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    lease_node TEXT,
    PRIMARY KEY (queue, merchant_id, environment, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_by_time ON work (queue, due_at);
CREATE INDEX work_of_node ON work (lease_node) WHERE lease_node IS NOT NULL;

CREATE TABLE nodes (
    node TEXT NOT NULL PRIMARY KEY,
    beat_at INTEGER NOT NULL
) STRICT;

-- Counters kept in the commits of what they count, each found by its name and up to four keys.
CREATE TABLE counters (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    name TEXT NOT NULL,
    key1 TEXT NOT NULL,
    key2 TEXT NOT NULL,
    key3 TEXT NOT NULL,
    key4 TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, name, key1, key2, key3, key4)
) STRICT, WITHOUT ROWID;

INSERT INTO work (queue, merchant_id, environment, subject, action, due_at, due_since, attempts, turn)
    SELECT 'settlement', merchant_id, environment, id, due_action, due_at, due_at, 0, 1 FROM payments
    WHERE due_at IS NOT NULL AND due_action IS NOT NULL;
INSERT INTO counters (merchant_id, environment, name, key1, key2, key3, key4, count)
    SELECT merchant_id, environment, 'payments', status, type, method, currency, count FROM payment_counts;
DROP TABLE payment_counts;

-- A revision counts every writing of a payment; its status version counts the changes of its status.
DROP INDEX payments_due;
ALTER TABLE payments DROP COLUMN due_at;
ALTER TABLE payments DROP COLUMN due_action;
ALTER TABLE payments ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
UPDATE payments SET revision = status_version;

-- Kept answers hold no secret and are no longer sealed. Those of the last 24 hours cannot be read without the master key, so they
-- go; a repeat of such a request is still told by its reference that its payment exists.
DELETE FROM kept_answers;
ALTER TABLE kept_answers RENAME COLUMN sealed_body TO body;
