-- The chains of hashes over entries and audit log. `chains` says how far each is; `seals` keeps every head it ever had.
-- Merchant -1 is none, and an empty environment is none or both. The last row sealed is that of `upto_at` (of a line of the
-- audit log) and `upto_id`.
CREATE TABLE chains (
    book TEXT COLLATE "C" NOT NULL,
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    rows BIGINT NOT NULL CHECK (rows > 0),
    hash TEXT COLLATE "C" NOT NULL,
    upto_at BIGINT NOT NULL,
    upto_id TEXT COLLATE "C" NOT NULL,
    sealed_at BIGINT NOT NULL,
    PRIMARY KEY (book, merchant_id, environment)
);
CREATE TABLE seals (
    book TEXT COLLATE "C" NOT NULL,
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    rows BIGINT NOT NULL CHECK (rows > 0),
    hash TEXT COLLATE "C" NOT NULL,
    upto_at BIGINT NOT NULL,
    upto_id TEXT COLLATE "C" NOT NULL,
    sealed_at BIGINT NOT NULL,
    PRIMARY KEY (book, merchant_id, environment, rows)
);
CREATE TRIGGER seals_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Which node seals at present, and up to when anybody has sealed: nothing gets an identifier of an earlier time any more.
CREATE TABLE sealing (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    node TEXT COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL,
    sealed_until BIGINT NOT NULL
);
INSERT INTO sealing (id, node, lease_until, sealed_until) VALUES (1, '', 0, 0);
