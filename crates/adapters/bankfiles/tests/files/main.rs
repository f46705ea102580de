//! Files as banks exchange them: what is written fits the published schema, and so does what is read here.
//!
//! `QUIPU_TEST_SCHEMAS` is a folder with the schemas of ISO 20022; the test bed puts them there.

mod statements;
mod transfers;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

/// Panics unless `file` is valid by the schema of this name.
fn assert_valid(file: &[u8], schema: &str) {
    let folder = std::env::var_os("QUIPU_TEST_SCHEMAS").map(PathBuf::from);
    let folder = folder.expect("QUIPU_TEST_SCHEMAS is set: run this by `make test` or in `make shell`");
    let mut lint = Command::new("xmllint");
    lint.args(["--noout", "--nonet", "--schema"]).arg(folder.join(format!("{schema}.xsd"))).arg("-");
    let mut child = lint.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("xmllint runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), file).expect("xmllint reads");
    let output = child.wait_with_output().expect("xmllint ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(file));
}
