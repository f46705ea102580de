-- A table of the tests: what a new one that is only written takes on PostgreSQL.
CREATE TABLE diary (
    merchant_id BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    text TEXT NOT NULL,
    mood INTEGER,
    written_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
