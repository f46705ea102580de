//! Other people's programs in Python.

use std::process::{Command, Stdio};

/// Python with the programs of `tests/contract/requirements.txt`, which are installed at the first use.
pub fn python_with_tools() -> Command {
    let tools = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/contract/tools.sh"))
        .stderr(Stdio::inherit())
        .output()
        .expect("bash can be run");
    assert!(tools.status.success(), "the programs of tests/contract/requirements.txt can be installed");
    let folder = String::from_utf8(tools.stdout).expect("UTF-8");
    Command::new(format!("{}/bin/python3", folder.trim_end()))
}
