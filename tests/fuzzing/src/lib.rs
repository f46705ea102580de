#![doc = include_str!("../README.md")]
#![expect(clippy::missing_panics_doc, reason = "a reader that contradicts itself is shown by panicking")]

mod bodies;
mod configuration;
mod files;
mod framing;
mod mutation;
mod texts;

pub use mutation::{corpus, mutated};

/// A reader: its name, which is that of its folder in the corpus, and whether it takes what it is given.
pub type Reader = (&'static str, fn(&[u8]) -> bool);

/// Every reader.
pub const READERS: [Reader; 16] = [
    ("creation", bodies::creation),
    ("ticket", bodies::ticket),
    ("endpoint", bodies::endpoint),
    ("routes", bodies::routes),
    ("callback", bodies::callback),
    ("query", texts::query),
    ("signature", texts::signature),
    ("names", texts::names),
    ("statement", files::statement),
    ("picture", files::picture),
    ("framing", framing::framing),
    ("forwarded", texts::forwarded),
    ("recipient", texts::recipient),
    ("token", texts::token),
    ("answer", bodies::answer),
    ("configuration", configuration::configuration),
];

/// Gives bytes to the reader of this name; answers whether it takes them.
pub fn give(reader: &str, bytes: &[u8]) -> bool {
    let found = READERS.iter().find(|(name, _)| *name == reader);
    let (_, read) = found.unwrap_or_else(|| panic!("there is no reader {reader}"));
    read(bytes)
}
