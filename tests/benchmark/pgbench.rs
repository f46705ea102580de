//! PostgreSQL's own yardstick on the same server: TPC-B, one durable transaction of five statements after another.

use std::{process::Command, time::Duration};

use quipu_tests::{Database, TestDatabase};

/// Transactions a second with so many clients, for each of the numbers, over so many branches. Every
/// transaction updates the row of a branch: with one branch all clients meet in one row, as the withdrawals
/// of one merchant do; with as many branches as clients they seldom meet.
pub(crate) async fn tpc_b(branches: usize, clients: &[usize], time: Duration) -> Vec<f64> {
    let database = TestDatabase::create(Database::Postgres).await;
    let url = database.url().expect("PostgreSQL has a URL").to_owned();
    run(&["--initialize", "--quiet", "--scale", &branches.to_string(), &url]);
    clients
        .iter()
        .map(|clients| {
            let (clients, seconds) = (clients.to_string(), time.as_secs().max(1).to_string());
            let threads = if clients == "1" { "1" } else { "2" };
            let output = run(&[
                "--no-vacuum",
                "--protocol=prepared",
                "--client",
                &clients,
                "--jobs",
                threads,
                "--time",
                &seconds,
                &url,
            ]);
            let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
            rate.and_then(|text| text.parse().ok())
                .unwrap_or_else(|| panic!("pgbench says no rate:\n{output}"))
        })
        .collect()
}

fn run(arguments: &[&str]) -> String {
    let output = Command::new("pgbench").args(arguments).output().expect("pgbench comes with PostgreSQL");
    assert!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
