//! What a newcomer does first: paste the lines that `quipu serve --dev` prints.

use std::{process::Command, time::Duration};

use quipu_tests::{Database, Gateway, on_both_databases};
use serde_json::Value;

on_both_databases!(the_printed_lines_work_as_they_stand);

/// Shell commands among printed lines: from `curl` to the end of the line, and on while a line ends in a backslash.
fn curl_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.lines().map(str::trim) {
        if continued {
            let command = commands.last_mut().expect("there is a command to continue");
            command.push('\n');
            command.push_str(line);
        } else if line.starts_with("curl ") {
            commands.push(line.to_owned());
        }
        continued = line.ends_with('\\') && (continued || line.starts_with("curl "));
    }
    commands
}

async fn the_printed_lines_work_as_they_stand(database: Database) {
    let gateway = Gateway::start(database).await;
    let printed = quipu_tests::eventually("the lines to be printed", Duration::from_secs(10), async || {
        let printed = gateway.stdout();
        (curl_commands(&printed).len() >= 3).then_some(printed)
    })
    .await;
    let mut kinds = Vec::new();
    for command in curl_commands(&printed) {
        let output = Command::new("sh").arg("-c").arg(&command).output().expect("a shell");
        let body = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}\n{body}\n{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {command}\n{body}"));
        assert_eq!(answer["success"], true, "{command}\n{body}");
        kinds.push(answer["type"].as_str().unwrap_or("other").to_owned());
    }
    for kind in ["deposit", "withdrawal", "other"] {
        assert!(kinds.iter().any(|found| found == kind), "no {kind} among {kinds:?}\n{printed}");
    }
    for shown in [
        gateway.credential("/v1/api_key"),
        gateway.credential("/v2/hmac_secret"),
        gateway.credential("/operator_token"),
    ] {
        assert!(printed.contains(&shown), "a credential is not printed");
    }
}
