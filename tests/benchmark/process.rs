//! What the kernel knows of a process and of this machine.

use std::fs;

/// Processor time a process has used so far, in seconds, user and system together.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    // The kernel counts in hundredths of a second on every platform we build for.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The second field, the program's name, is in parentheses and may hold spaces.
    let after_name = stat.rsplit_once(')').expect("a name in parentheses").1;
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}

/// Resident memory of a process in mebibytes: now, and the most it ever was.
pub(crate) fn memory_mebibytes(pid: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
        line.trim_start_matches(':').trim_end_matches("kB").trim().parse::<f64>().expect("a number") / 1_024.0
    };
    (read("VmRSS"), read("VmHWM"))
}

/// How many descriptors a process of this user may open.
pub(crate) fn descriptors() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    line.split_whitespace().next().and_then(|soft| soft.parse().ok()).unwrap_or(1_024)
}

/// Processor, cores and memory, in one line.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes =
        meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let gibibytes = kilobytes.and_then(|text| text.parse::<f64>().ok()).unwrap_or_default() / 1_048_576.0;
    format!("{}, {cores} cores, {gibibytes:.0} GiB of memory", model.unwrap_or("unknown processor"))
}
