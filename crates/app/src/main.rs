//! `quipu`: the gateway and the commands beside it.

mod config;

fn main() {
    let _ = config::Settings::load(None, None);
}
