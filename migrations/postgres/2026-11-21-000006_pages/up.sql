-- Hosted pages. A page is found by the hash of what its address holds; the address itself is nowhere.

CREATE TABLE payment_pages (
    hash TEXT NOT NULL PRIMARY KEY,
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    payment_id TEXT NOT NULL
);

-- What pages show of a merchant. A logo is found by the hash of its bytes, and stays as long as its merchant shows it.
CREATE TABLE merchant_pages (
    merchant_id BIGINT NOT NULL PRIMARY KEY REFERENCES merchants (id),
    name TEXT,
    accent TEXT,
    logo TEXT,
    picture BYTEA
);
CREATE INDEX merchant_pages_by_logo ON merchant_pages (logo);

-- The key that tokens follow from, sealed. There is one.
CREATE TABLE page_keys (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    sealed TEXT NOT NULL
);
