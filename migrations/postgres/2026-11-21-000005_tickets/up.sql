-- `search_text` is title and description in the form in which texts are compared, a line feed between them.
-- `status_rank` is the place of the status in
-- the order of lists, `queue_rank` the ticket's place in support's queue.
CREATE TABLE tickets (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    category TEXT NOT NULL,
    sub_category TEXT,
    payment_id TEXT,
    transaction_id TEXT,
    reference TEXT,
    requires_refund BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    search_text TEXT NOT NULL,
    status TEXT NOT NULL,
    status_rank INTEGER NOT NULL,
    queue_rank INTEGER NOT NULL,
    assignee TEXT,
    resolution_summary TEXT,
    updated_at BIGINT NOT NULL,
    resolved_at BIGINT,
    last_activity_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE UNIQUE INDEX tickets_id ON tickets (id);
CREATE UNIQUE INDEX tickets_of_payment ON tickets (merchant_id, environment, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX tickets_by_creation ON tickets (merchant_id, environment, created_at, id);
CREATE INDEX tickets_by_update ON tickets (merchant_id, environment, updated_at, id);
CREATE INDEX tickets_by_activity ON tickets (merchant_id, environment, last_activity_at, id);
CREATE INDEX tickets_by_status ON tickets (merchant_id, environment, status_rank, id);
CREATE INDEX tickets_by_category ON tickets (merchant_id, environment, category, created_at, id);
CREATE INDEX tickets_in_queue ON tickets (queue_rank, created_at, id);

-- Where the extension can be had every three letters of a text are found in an index. Where it cannot the search reads the
-- texts of the merchant's tickets, which answers the same and takes longer.
DO $search$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX tickets_by_text ON tickets USING gin (search_text gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'pg_trgm cannot be had, so ticket search has no index: %', SQLERRM;
END
$search$;

-- What everybody sees, and what only support sees, are two tables, so that no query for merchants can find a note.
CREATE TABLE ticket_comments (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    id BIGINT NOT NULL,
    author_type TEXT NOT NULL,
    author_id TEXT,
    author_name TEXT,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, ticket_id, id)
);

CREATE TABLE ticket_notes (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    id BIGINT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, ticket_id, id)
);

CREATE TABLE ticket_uploads (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    object TEXT,
    size BIGINT,
    spent BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);

CREATE TABLE ticket_attachments (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    comment_id BIGINT NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    object TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, id)
);
CREATE INDEX ticket_attachments_of_ticket
    ON ticket_attachments (merchant_id, environment, ticket_id, comment_id, place);

CREATE TABLE ticket_thumbnails (
    merchant_id BIGINT NOT NULL,
    environment TEXT NOT NULL,
    attachment_id TEXT NOT NULL,
    object TEXT NOT NULL,
    content_type TEXT NOT NULL,
    PRIMARY KEY (merchant_id, environment, attachment_id)
);
