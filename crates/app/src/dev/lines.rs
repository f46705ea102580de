//! The output of `--dev`: credentials, and commands that can be pasted into a shell as they are.

use std::fmt::Write;

use super::Credentials;
use crate::shell_word::word;

/// A command to try.
struct Line {
    does: &'static str,
    command: String,
}

/// The whole message after the start of a demo. `page` is the address of its hosted page, if there is one.
pub(crate) fn message(credentials: &Credentials, page: Option<&str>) -> String {
    let Credentials { base_url, operator_token, v1, v2 } = credentials;
    let mut text = format!(
        "Quipu serves {base_url}

  merchant {} (v1)  API key      {}
  merchant {} (v2)  HMAC secret  {}
  operator                       token        {operator_token}

  Reference     {base_url}/api/v1/docs
",
        v1.merchant_id, v1.api_key, v2.merchant_id, v2.hmac_secret
    );
    if let Some(page) = page {
        let _ = writeln!(text, "  Hosted page   {page}");
    }
    for Line { does, command } in lines(credentials, &this_binary()) {
        let _ = write!(text, "\n# {does}\n{command}\n");
    }
    text.push_str("\nThe guide for merchants is docs/API.md, the one for operators docs/OPERATIONS.md.\n");
    text
}

/// The path of this program, as a word of a shell.
fn this_binary() -> String {
    std::env::current_exe().map_or_else(|_| "quipu".to_owned(), |path| word(&path.display().to_string()))
}

fn lines(credentials: &Credentials, binary: &str) -> Vec<Line> {
    let Credentials { base_url, operator_token, v1, .. } = credentials;
    let key = format!("-H 'X-API-Key: {}'", v1.api_key);
    let json = "-H 'Content-Type: application/json'";
    // The reference changes from second to second, so that a line can be pasted again.
    let reference = |word: &str| format!("{word}-'$(date +%s)'");
    vec![
        Line {
            does: "Create a deposit; it completes by itself after simulator.delay",
            command: format!(
                "curl -s -X POST {base_url}/api/v1/payments {key} {json} -d '{{\"amount\":100000,\"currency\":\"MXN\",\
                 \"method\":\"spei\",\"type\":\"deposit\",\"merchant_reference\":\"{}\",\
                 \"customer\":{{\"name\":\"Ana Perez\",\"email\":\"ana@example.com\"}}}}'",
                reference("deposit")
            ),
        },
        Line {
            does: "Create a withdrawal; it freezes its amount, is submitted, and completes",
            command: format!(
                "curl -s -X POST {base_url}/api/v1/payments {key} {json} -d '{{\"amount\":50000,\"currency\":\"MXN\",\
                 \"method\":\"spei\",\"type\":\"withdrawal\",\"merchant_reference\":\"{}\",\
                 \"customer\":{{\"name\":\"Ana Perez\",\"email\":\"ana@example.com\"}},\
                 \"payout\":{{\"recipient_name\":\"Ana Perez\",\"bank_account\":\"032180000118359719\"}}}}'",
                reference("withdrawal")
            ),
        },
        Line {
            does: "Read the balance",
            command: format!("curl -s '{base_url}/api/v1/balance?currency=MXN' {key}"),
        },
        Line {
            does: "List the last payments",
            command: format!("curl -s '{base_url}/api/v1/payments?limit=5' {key}"),
        },
        signed_balance(credentials),
        Line {
            does: "List the merchants, as the operator",
            command: format!(
                "curl -s {base_url}/operator/v1/merchants -H 'Authorization: Bearer {operator_token}'"
            ),
        },
        Line {
            does: "Receive webhooks, in a second terminal: prints each one, and whether its signature verifies",
            command: format!(
                "{binary} listen --port 9099 --secret \"$(curl -s {base_url}/api/v1/merchants/{} {key} | \
                 grep -o 'whsec_[^\"]*')\"",
                v1.merchant_id
            ),
        },
        Line {
            does: "Create a deposit that sends its events to the listener: one immediately, and one when it completes",
            command: format!(
                "curl -s -X POST {base_url}/api/v1/payments {key} {json} -d '{{\"amount\":100000,\"currency\":\"MXN\",\
                 \"method\":\"spei\",\"type\":\"deposit\",\"merchant_reference\":\"{}\",\
                 \"customer\":{{\"name\":\"Ana Perez\",\"email\":\"ana@example.com\"}},\
                 \"webhook_url\":\"http://127.0.0.1:9099/hook\"}}'",
                reference("hook")
            ),
        },
    ]
}

/// The call that a v2 merchant signs with its secret.
fn signed_balance(credentials: &Credentials) -> Line {
    let Credentials { base_url, v2, .. } = credentials;
    Line {
        does: "Read the balance of the v2 merchant, the call signed with its secret",
        command: format!(
            "T=$(date +%s) N=$(openssl rand -hex 16) P='/api/v2/balance?currency=MXN'; \
             B=$(printf '' | openssl dgst -sha256 -r | cut -d' ' -f1); \
             S=$(printf %s \"v1.$T.$N.GET.$P.$B\" | openssl dgst -sha256 -hmac '{}' -r | cut -d' ' -f1); \
             curl -s \"{base_url}$P\" -H 'X-Merchant-Id: {}' -H \"X-Timestamp: $T\" -H \"X-Nonce: $N\" \
             -H 'X-Signature-Version: v1' -H \"X-Signature: hmac_sha256=$S\"",
            v2.hmac_secret, v2.merchant_id
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::{V1Credentials, V2Credentials};

    #[test]
    fn the_readme_shows_the_lines_as_they_are_printed() {
        let readme = include_str!("../../../../README.md");
        let placeholders = Credentials {
            base_url: "http://127.0.0.1:8080".to_owned(),
            operator_token: "qp_op_…".to_owned(),
            v1: V1Credentials { merchant_id: 1, api_key: "qp_test_sk_…".to_owned() },
            v2: V2Credentials { merchant_id: 2, hmac_secret: "qp_hmac_…".to_owned() },
        };
        let all = lines(&placeholders, "target/release/quipu");
        let (first, last) = (all.iter().take(3), all.iter().rev().take(2));
        for line in first.chain(last) {
            assert!(readme.contains(&line.command), "the README lacks:\n{}", line.command);
        }
    }
}
