//! The address of the database as PostgreSQL's own programs read it. They know a few parameters of
//! `database_url` under another name, in another unit or with another default than the gateway's driver.

use crate::postgres::tls::{decoded, parts};

/// The address for a program. The password is kept apart, because all users of the machine can read a
/// program's arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProgramAddress {
    base: String,
    parameters: Vec<String>,
    /// A password among the parameters overrides one before the host, as in the driver.
    pub(super) password: Option<String>,
}

impl ProgramAddress {
    /// The address for a program that only reads; a standby will do.
    pub(super) fn to_read(url: &str) -> Self {
        let (base, parameters) = parts(url);
        let (base, password) = without_user_password(base);
        let mut address = Self { base, parameters: Vec::new(), password };
        let (mut mode, mut authority) = (None, None);
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (name, value) = (decoded(name), decoded(value));
            match name.as_str() {
                "password" => address.password = Some(value),
                "tcp_user_timeout" => address.parameters.extend(in_milliseconds(&value)),
                "keepalives_retries" => address.parameters.push(format!("keepalives_count={value}")),
                _ => {
                    address.parameters.push(parameter.to_owned());
                    match name.as_str() {
                        "sslmode" => mode = Some(value),
                        "sslrootcert" => authority = Some(value),
                        _ => {}
                    }
                }
            }
        }
        address.parameters.extend(match (mode.as_deref(), authority.as_deref()) {
            // Without it they look for a file in the home folder, and refuse to connect if there is none.
            (Some("verify-full"), None) => Some("sslrootcert=system".to_owned()),
            // Those before release 16 take the word for a file that is missing, and would verify nothing.
            (None, Some("system")) => Some("sslmode=verify-full".to_owned()),
            _ => None,
        });
        address
    }

    /// The address for a program that writes, which a standby would refuse half-way.
    pub(super) fn to_write(url: &str) -> Self {
        let mut address = Self::to_read(url);
        address.parameters.retain(|parameter| parameter != "target_session_attrs=any");
        if !address.parameters.iter().any(|parameter| parameter.starts_with("target_session_attrs=")) {
            address.parameters.push("target_session_attrs=read-write".to_owned());
        }
        address
    }

    /// The address without its password.
    pub(super) fn url(&self) -> String {
        let mark = if self.parameters.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.base, self.parameters.join("&"))
    }
}

/// The parameter in the programs' unit. Without a number above zero the driver has a limit of its own, and the
/// programs have the system's.
fn in_milliseconds(seconds: &str) -> Option<String> {
    let seconds = seconds.parse().ok().filter(|seconds: &i32| *seconds > 0)?;
    Some(format!("tcp_user_timeout={}", seconds.saturating_mul(1000)))
}

fn without_user_password(address: &str) -> (String, Option<String>) {
    let unchanged = || (address.to_owned(), None);
    let Some((scheme, rest)) = address.split_once("://") else { return unchanged() };
    let Some((user, hosts)) = rest.split_once('@') else { return unchanged() };
    let Some((name, password)) = user.split_once(':') else { return unchanged() };
    (format!("{scheme}://{name}@{hosts}"), Some(decoded(password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_no_part_of_the_address() {
        for (url, stripped, password) in [
            (
                "postgres://quipu:s3%40cret@db1,db2:5433/quipu?sslmode=require",
                "postgres://quipu@db1,db2:5433/quipu?sslmode=require",
                Some("s3@cret"),
            ),
            ("postgres://quipu@db/quipu", "postgres://quipu@db/quipu", None),
            ("postgresql://db", "postgresql://db", None),
            (
                "postgres://a:Q7/x?y@db/quipu?sslmode=require",
                "postgres://a@db/quipu?sslmode=require",
                Some("Q7/x?y"),
            ),
            ("postgres://a:b:c%@db", "postgres://a@db", Some("b:c%")),
            ("postgres://db?user=a&password=b%26c", "postgres://db?user=a", Some("b&c")),
            (
                "postgres://a:b@db/quipu?p%61ssword=c&sslmode=require&user=d",
                "postgres://a@db/quipu?sslmode=require&user=d",
                Some("c"),
            ),
        ] {
            let address = ProgramAddress::to_read(url);
            assert_eq!((&*address.url(), address.password.as_deref()), (stripped, password));
        }
    }

    #[test]
    fn what_programs_read_otherwise_is_translated() {
        for (given, translated) in [
            ("sslmode=verify-full", "sslmode=verify-full&sslrootcert=system"),
            ("sslmode=verify-full&sslrootcert=/a.crt", "sslmode=verify-full&sslrootcert=/a.crt"),
            ("sslmode=verify-ca&sslrootcert=/a.crt", "sslmode=verify-ca&sslrootcert=/a.crt"),
            ("sslrootcert=s%79stem", "sslrootcert=s%79stem&sslmode=verify-full"),
            ("sslrootcert=/a.crt", "sslrootcert=/a.crt"),
            ("sslmode=verify-full&sslmode=require", "sslmode=verify-full&sslmode=require"),
            ("tcp_user_timeout=10&user=a", "tcp_user_timeout=10000&user=a"),
            ("tcp_user_timeout=0&user=a", "user=a"),
            ("tcp_user_timeout=2147484", "tcp_user_timeout=2147483647"),
            ("keepalives_retries=3&keepalives_idle=10", "keepalives_count=3&keepalives_idle=10"),
        ] {
            let address = ProgramAddress::to_read(&format!("postgres://db/quipu?{given}"));
            assert_eq!(address.url(), format!("postgres://db/quipu?{translated}"));
        }
    }

    #[test]
    fn only_a_program_that_writes_asks_for_a_server_that_can_be_written() {
        let url = "postgres://db1,db2/quipu";
        assert_eq!(ProgramAddress::to_read(url).url(), url);
        let writable = format!("{url}?target_session_attrs=read-write");
        for given in [url, &format!("{url}?target_session_attrs=any"), &writable] {
            assert_eq!(ProgramAddress::to_write(given).url(), writable);
        }
    }
}
