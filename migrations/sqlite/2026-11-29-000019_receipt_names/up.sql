-- The provider's own identifier of the payment that it reported, by which staff ask it about a parked event.
ALTER TABLE receipts ADD COLUMN provider_reference TEXT;
