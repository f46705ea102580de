-- The chains of hashes over entries and audit log. `chains` says how far each is; `seals` keeps every head it ever had.
-- Merchant -1 is none, and an empty environment is none or both. The last row sealed is that of `upto_at` (of a line of the
-- audit log) and `upto_id`.
CREATE TABLE chains (
    book TEXT NOT NULL,
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    rows INTEGER NOT NULL CHECK (rows > 0),
    hash TEXT NOT NULL,
    upto_at INTEGER NOT NULL,
    upto_id TEXT NOT NULL,
    sealed_at INTEGER NOT NULL,
    PRIMARY KEY (book, merchant_id, environment)
) STRICT, WITHOUT ROWID;
CREATE TABLE seals (
    book TEXT NOT NULL,
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    rows INTEGER NOT NULL CHECK (rows > 0),
    hash TEXT NOT NULL,
    upto_at INTEGER NOT NULL,
    upto_id TEXT NOT NULL,
    sealed_at INTEGER NOT NULL,
    PRIMARY KEY (book, merchant_id, environment, rows)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER seals_are_never_updated BEFORE UPDATE ON seals
BEGIN SELECT RAISE (ABORT, 'seals are never changed'); END;
CREATE TRIGGER seals_are_never_deleted BEFORE DELETE ON seals
BEGIN SELECT RAISE (ABORT, 'seals are never changed'); END;
CREATE TRIGGER seals_are_never_replaced BEFORE INSERT ON seals
WHEN EXISTS (SELECT 1 FROM seals WHERE book = new.book AND merchant_id = new.merchant_id
    AND environment = new.environment AND rows = new.rows)
BEGIN SELECT RAISE (ABORT, 'seals are never changed'); END;

-- Which node seals at present, and up to when anybody has sealed: nothing gets an identifier of an earlier time any more.
CREATE TABLE sealing (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    node TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    sealed_until INTEGER NOT NULL
) STRICT;
INSERT INTO sealing (id, node, lease_until, sealed_until) VALUES (1, '', 0, 0);
