#![doc = include_str!("../README.md")]

mod accent;
mod account_number;
mod assets;
mod barcode;
mod brand;
mod clock;
mod code;
mod details;
mod facts;
mod form;
mod frame;
mod guide;
mod how_to_pay;
mod language;
mod logo;
mod money;
mod notice;
mod page_urls;
mod payment_page;
mod qr;
mod rendered;
#[cfg(test)]
mod samples;
mod scheme;
mod story;
mod view;
mod voucher;
mod words;

pub use assets::{Asset, ICON, asset, policy};
pub use brand::Brand;
pub use details::PageDetails;
pub use form::Filled;
pub use guide::{GUIDES, Guide};
pub use language::Language;
pub use logo::{LogoProblem, MAX_LOGO_BYTES, redraw};
pub use notice::{FrontLink, Notice, front};
pub use page_urls::PageUrls;
pub use payment_page::PaymentPage;
pub use scheme::{SchemeView, scheme_page};
pub use story::is_live;
pub use view::View;
pub use words::Words;
