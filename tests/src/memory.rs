//! The memory of a gateway, as the kernel counts it.

use std::fs;

use crate::Gateway;

impl Gateway {
    /// The memory in use, in KiB.
    pub fn memory(&self) -> u64 {
        self.kib_of("VmRSS:")
    }

    /// Forgets the most memory that was ever in use, so that it counts anew.
    pub fn forget_peak(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.pid()), "5").expect("the peak can be forgotten");
    }

    /// The most memory in use since the peak was forgotten, in KiB.
    pub fn peak(&self) -> u64 {
        self.kib_of("VmHWM:")
    }

    fn kib_of(&self, line: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a process");
        let found = status.lines().find_map(|text| text.strip_prefix(line)).expect("the line is there");
        found.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}
