-- `place` is a ticket's number in the search; it never changes, as the row's own number might. `search_text` is title and
-- description in the form in which texts are compared, a line feed between them. `status_rank` is the place of the status in
-- the order of lists, `queue_rank` the ticket's place in support's queue.
CREATE TABLE tickets (
    place INTEGER NOT NULL PRIMARY KEY,
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    category TEXT NOT NULL,
    sub_category TEXT,
    payment_id TEXT,
    transaction_id TEXT,
    reference TEXT,
    requires_refund INTEGER NOT NULL CHECK (requires_refund IN (0, 1)),
    created_at INTEGER NOT NULL,
    search_text TEXT NOT NULL,
    status TEXT NOT NULL,
    status_rank INTEGER NOT NULL,
    queue_rank INTEGER NOT NULL,
    assignee TEXT,
    resolution_summary TEXT,
    updated_at INTEGER NOT NULL,
    resolved_at INTEGER,
    last_activity_at INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tickets_key ON tickets (merchant_id, environment, id);
CREATE UNIQUE INDEX tickets_id ON tickets (id);
CREATE UNIQUE INDEX tickets_of_payment ON tickets (merchant_id, environment, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX tickets_by_creation ON tickets (merchant_id, environment, created_at, id);
CREATE INDEX tickets_by_update ON tickets (merchant_id, environment, updated_at, id);
CREATE INDEX tickets_by_activity ON tickets (merchant_id, environment, last_activity_at, id);
CREATE INDEX tickets_by_status ON tickets (merchant_id, environment, status_rank, id);
CREATE INDEX tickets_by_category ON tickets (merchant_id, environment, category, created_at, id);
CREATE INDEX tickets_in_queue ON tickets (queue_rank, created_at, id);

-- Every three letters of a text are found in an index. The texts themselves are in the tickets only.
CREATE VIRTUAL TABLE ticket_search USING fts5 (search_text, content = '', tokenize = 'trigram case_sensitive 1');
CREATE TRIGGER ticket_search_of_new AFTER INSERT ON tickets BEGIN
    INSERT INTO ticket_search (rowid, search_text) VALUES (new.place, new.search_text);
END;

-- What everybody sees, and what only support sees, are two tables, so that no query for merchants can find a note.
CREATE TABLE ticket_comments (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    id INTEGER NOT NULL,
    author_type TEXT NOT NULL,
    author_id TEXT,
    author_name TEXT,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, ticket_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_notes (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    id INTEGER NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, ticket_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_uploads (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    object TEXT,
    size INTEGER,
    spent INTEGER NOT NULL CHECK (spent IN (0, 1)),
    revision INTEGER NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_attachments (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    comment_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    object TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ticket_attachments_of_ticket
    ON ticket_attachments (merchant_id, environment, ticket_id, comment_id, place);

CREATE TABLE ticket_thumbnails (
    merchant_id INTEGER NOT NULL,
    environment TEXT NOT NULL,
    attachment_id TEXT NOT NULL,
    object TEXT NOT NULL,
    content_type TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, attachment_id)
) STRICT, WITHOUT ROWID;
