//! Commands of the binary that end by themselves: `quipu check`, `quipu operator create` and others.

use std::process::Output;

/// The output of a finished command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.status, Some(0), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        &self.stdout
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
