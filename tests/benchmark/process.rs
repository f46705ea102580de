//! What the kernel knows of a process and of this machine, and on which cores a process may run.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

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

/// The numbers of the cores that this process may use.
pub(crate) fn cores() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").expect("this process runs");
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("the line is there");
    let number = |text: &str| text.trim().parse::<u32>().expect("the number of a core");
    allowed
        .split(',')
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            number(first)..=number(last)
        })
        .collect()
}

/// Lets all threads of a process, and whatever they start from now on, run on these cores only.
pub(crate) fn confine(pid: u32, cores: &[u32]) {
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let done = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", &list, &pid.to_string()])
        .stdout(Stdio::null())
        .status()
        .expect("taskset runs");
    // A database's process may have ended meanwhile.
    let is_gone = !Path::new(&format!("/proc/{pid}")).exists();
    assert!(done.success() || is_gone, "process {pid} is confined to cores {list}");
}

/// The processes of the database server that runs for this command, in a folder of its own.
pub(crate) fn of_database_server() -> Vec<u32> {
    let is_of_the_bed = |folder: &Path| {
        folder
            .parent()
            .and_then(Path::file_name)
            .is_some_and(|name| name.to_string_lossy().starts_with("quipu-bed."))
    };
    let processes = fs::read_dir("/proc").expect("processes are listed").flatten();
    processes
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|folder| is_of_the_bed(&folder)))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Processor, cores and memory, in one line.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name);
    let cores = cores().len();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes =
        meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let gibibytes = kilobytes.and_then(|text| text.parse::<f64>().ok()).unwrap_or_default() / 1_048_576.0;
    format!("{}, {cores} cores, {gibibytes:.0} GiB of memory", model.unwrap_or("unknown processor"))
}
