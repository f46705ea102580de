//! What a merchant asks for.

pub(crate) mod creation;
pub(crate) mod creation_key;
pub(crate) mod draft;
pub(crate) mod invalid;
