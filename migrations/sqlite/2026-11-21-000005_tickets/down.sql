DROP TABLE ticket_thumbnails;
DROP TABLE ticket_attachments;
DROP TABLE ticket_uploads;
DROP TABLE ticket_notes;
DROP TABLE ticket_comments;
DROP TABLE ticket_search;
DROP TABLE tickets;
