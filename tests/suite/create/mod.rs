//! Every rule of payment creation (specification, "Payment create request" to "Partner destination").

mod amounts;
mod expiry;
mod fields;
mod pairings;
mod partner_destinations;
mod payouts;
mod records;
mod responses;
mod routes;
