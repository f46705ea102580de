//! `quipu`: the gateway and the commands beside it.

mod config;
mod data_folder;
mod logging;
mod master_key;
mod workers;

fn main() {
    let _ = config::Settings::load(None, None);
}
