-- A table of the tests: what a new one that is only written takes on SQLite.
CREATE TABLE diary (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    mood INTEGER,
    written_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
