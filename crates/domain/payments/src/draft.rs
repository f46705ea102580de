//! A create request, read whole.

use quipu_kernel::Problems;

/// A valid create request: whatever the request alone can show to be wrong with it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {}

impl Draft {
    /// Reads a request's body, or says everything that is wrong with it.
    pub fn parse(body: &serde_json::Value) -> Result<Self, Problems> {
        unimplemented!()
    }
}
