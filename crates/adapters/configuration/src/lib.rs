#![doc = include_str!("../README.md")]

mod attachments;
mod environment;
mod file;
mod key;
mod log_format;
mod providers;
mod reader;
mod refused;
mod settings;
mod values;
mod webhooks;

pub use attachments::{Attachments, FilesAt};
pub use log_format::LogFormat;
pub use providers::Provider;
pub use refused::{Problem, Refused};
pub use settings::Settings;
pub use values::duration;
pub use webhooks::WebhookSettings;
