//! The transport to a server: plain or TLS, as `sslmode` and `sslrootcert` of its address say. The words are
//! those of libpq, with the same meaning.

use std::sync::Arc;

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};
use tokio_postgres::{Client, Config, Connection, Socket, config::SslMode, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Fault;

/// The stream that carries a connection.
pub(crate) type Stream = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// The value of `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// No TLS.
    Disable,
    /// TLS only if the server refuses plain connections.
    Allow,
    /// TLS if the server supports it.
    Prefer,
    /// TLS, without checking who answers.
    Require,
    /// TLS, with a certificate of the authority.
    VerifyCa,
    /// The same, and the certificate must be valid for the server's name.
    VerifyFull,
}

impl Mode {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// The transports to try, in this order.
    const fn tries(self) -> &'static [SslMode] {
        match self {
            Self::Disable => &[SslMode::Disable],
            Self::Allow => &[SslMode::Disable, SslMode::Require],
            Self::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[SslMode::Require],
        }
    }
}

/// The transport that an address asks for.
#[derive(Clone)]
pub(crate) struct Transport {
    mode: Mode,
    pub(crate) tls: MakeRustlsConnect,
}

impl Transport {
    /// Removes the settings for TLS from an address; the rest is for the driver.
    pub(crate) fn of(url: &str) -> Result<(Self, String), Fault> {
        let (base, query) = parts(url);
        let (mut mode, mut authority, mut rest) = (None, None, Vec::new());
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", word)) => {
                    let known = Mode::named(word);
                    mode = Some(known.ok_or_else(|| {
                        refused("sslmode must be disable, allow, prefer, require, verify-ca or verify-full")
                    })?);
                }
                Some(("sslrootcert", file)) => authority = Some(decoded(file)),
                _ => rest.push(option),
            }
        }
        let mode = match (mode, authority.as_deref()) {
            // As in libpq: anybody has a certificate of a public authority, so only the name tells.
            (None | Some(Mode::VerifyFull), Some("system")) => Mode::VerifyFull,
            (Some(Mode::Disable | Mode::Allow | Mode::Prefer | Mode::Require), Some("system")) => {
                return Err(refused("sslrootcert=system needs sslmode=verify-full"));
            }
            // As in libpq: with `sslrootcert`, `require` verifies the authority.
            (Some(Mode::Require), Some(_)) => Mode::VerifyCa,
            (mode, _) => mode.unwrap_or(Mode::Prefer),
        };
        let tls = MakeRustlsConnect::new(client_config(mode, authority.as_deref())?);
        let query = rest.join("&");
        let url = if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") };
        Ok((Self { mode, tls }, url))
    }

    /// A connection. If the server refuses it because it is, or is not, encrypted, the other way is tried
    /// where the mode allows it.
    pub(crate) async fn connect(
        &self,
        config: &Config,
    ) -> Result<(Client, Connection<Socket, Stream>), tokio_postgres::Error> {
        let (last, before) = self.mode.tries().split_last().unwrap_or((&SslMode::Disable, &[]));
        for mode in before {
            match config.clone().ssl_mode(*mode).connect(self.tls.clone()).await {
                Err(error) if may_go_otherwise(&error) => {}
                outcome => return outcome,
            }
        }
        config.clone().ssl_mode(*last).connect(self.tls.clone()).await
    }
}

/// Whether the server refused the connection because it was, or was not, encrypted.
fn may_go_otherwise(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        None => error.to_string().contains("TLS handshake"),
    }
}

fn refused(text: impl std::fmt::Display) -> Fault {
    Fault::Unconnected(format!("database_url: {text}"))
}

fn client_config(mode: Mode, authority: Option<&str>) -> Result<ClientConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(refused)?;
    let (authority, is_any_name) = match (mode, authority) {
        (Mode::VerifyFull, authority) => (authority.unwrap_or("system"), false),
        (Mode::VerifyCa, Some(file)) if file != "system" => (file, true),
        (Mode::VerifyCa, _) => {
            // Everybody can have a certificate of a public authority.
            return Err(refused("sslmode=verify-ca needs sslrootcert, the file of your own authority"));
        }
        _ => {
            let verifier = Arc::new(AnyCertificate(provider));
            return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
        }
    };
    let verifier = of_authority(authority, is_any_name, provider)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

fn of_authority(
    authority: &str,
    is_any_name: bool,
    provider: Arc<CryptoProvider>,
) -> Result<OfAuthority, Fault> {
    let (roots, listed) = authorities(authority)?;
    let by_authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    Ok(OfAuthority { by_authority: by_authority.map_err(refused)?, listed, is_any_name })
}

/// The certificates that the operating system trusts, or those of a file, which are also returned as they are.
fn authorities(file: &str) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Fault> {
    let (mut roots, mut listed) = (RootCertStore::empty(), Vec::new());
    if file == "system" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        for certificate in read.map_err(|error| refused(format!("sslrootcert {file}: {error}")))? {
            listed.push(certificate.clone());
            roots.add(certificate).map_err(|error| refused(format!("sslrootcert {file}: {error}")))?;
        }
    }
    if roots.is_empty() {
        return Err(refused(format!("sslrootcert {file}: there is no certificate in it")));
    }
    Ok((roots, listed))
}

/// An address and its parameters. As in the driver, what stands before the first `@` names the user, whatever
/// characters are in the password.
pub(crate) fn parts(url: &str) -> (&str, &str) {
    let hosts = url.find('@').unwrap_or(0);
    let end = url[hosts..].find('?').map_or(url.len(), |place| hosts + place);
    (&url[..end], url[end..].strip_prefix('?').unwrap_or(""))
}

/// The text with `%2F` and the like decoded.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Accepts a certificate of the authority, for the server's name or for any.
#[derive(Debug)]
struct OfAuthority {
    by_authority: Arc<WebPkiServerVerifier>,
    /// The certificates of `sslrootcert`. A server may have one of them itself, signed by itself.
    listed: Vec<CertificateDer<'static>>,
    is_any_name: bool,
}

impl ServerCertVerifier for OfAuthority {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{
            Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
        };
        // The name is looked at last, so whatever else there is to find was found before.
        let verified = match self.by_authority.verify_server_cert(certificate, between, name, ocsp, now) {
            // One that signed itself may be an authority's, which no server's should be. Its time is looked at before.
            Err(rustls::Error::InvalidCertificate(problem))
                if self.listed.iter().any(|listed| listed == certificate)
                    && !matches!(
                        problem,
                        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
                    ) =>
            {
                let named =
                    ParsedCertificate::try_from(certificate).and_then(|it| verify_server_name(&it, name));
                named.map(|()| ServerCertVerified::assertion())
            }
            outcome => outcome,
        };
        match verified {
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if self.is_any_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_authority.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_authority.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

/// Accepts any certificate: protects against eavesdropping, but not against an impostor.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn problem(url: &str) -> String {
        Transport::of(url).err().expect("it must be refused").to_string()
    }

    #[test]
    fn what_is_about_tls_is_taken_out_of_the_address() {
        for (query, mode, left) in [
            ("", Mode::Prefer, ""),
            ("?sslmode=disable", Mode::Disable, ""),
            ("?sslmode=allow&connect_timeout=3", Mode::Allow, "?connect_timeout=3"),
            (
                "?connect_timeout=3&sslmode=require&application_name=x",
                Mode::Require,
                "?connect_timeout=3&application_name=x",
            ),
            ("?sslmode=verify-full", Mode::VerifyFull, ""),
            ("?sslrootcert=system", Mode::VerifyFull, ""),
        ] {
            for base in ["postgres://u:p@db1,db2:5433/quipu", "postgres://u:p?/q@db/quipu", "postgres://db"] {
                let (transport, rest) = Transport::of(&format!("{base}{query}")).expect("understood");
                assert_eq!((transport.mode, rest), (mode, format!("{base}{left}")));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_explained() {
        assert!(problem("postgres://u:secret@db/quipu?sslmode=sometimes").contains("verify-full"));
        for word in ["disable", "allow", "prefer", "require"] {
            let told = problem(&format!("postgres://db/quipu?sslmode={word}&sslrootcert=system"));
            assert!(told.contains("needs sslmode=verify-full"), "{told}");
        }
        for word in ["verify-ca", "verify-ca&sslrootcert=system"] {
            assert!(problem(&format!("postgres://db/quipu?sslmode={word}")).contains("needs sslrootcert"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("an authority.crt");
        let named = file.display().to_string().replace(' ', "%20");
        let url = format!("postgres://u:secret@db/quipu?sslmode=require&sslrootcert={named}");
        assert!(problem(&url).contains("an authority.crt"), "who names an authority means it");
        std::fs::write(&file, "nothing").expect("written");
        let told = problem(&url);
        assert!(told.contains("no certificate in it") && !told.contains("secret"), "{told}");
        let made = rcgen::generate_simple_self_signed(vec!["db".to_owned()]).expect("a certificate");
        std::fs::write(&file, made.cert.pem()).expect("written");
        assert_eq!(Transport::of(&url).expect("understood").0.mode, Mode::VerifyCa);
    }

    #[test]
    fn a_servers_own_certificate_is_good_for_its_name_and_its_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("server.crt");
        for is_ca in [rcgen::IsCa::NoCa, rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained)] {
            let mut params = rcgen::CertificateParams::new(vec!["db".to_owned()]).expect("a name");
            params.is_ca = is_ca;
            let made = params.self_signed(&rcgen::KeyPair::generate().expect("a key")).expect("signed");
            std::fs::write(&file, made.pem()).expect("written");
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let verifier = of_authority(file.to_str().expect("UTF-8"), false, provider).expect("understood");
            let year = |year: u64| UnixTime::since_unix_epoch(Duration::from_hours((year - 1970) * 8_766));
            let judge = |name: &str, at| {
                let name = ServerName::try_from(name.to_owned()).expect("a name");
                verifier.verify_server_cert(made.der(), &[], &name, &[], at).is_ok()
            };
            assert!(judge("db", year(2027)));
            assert!(!judge("other", year(2027)), "another server");
            assert!(!judge("db", year(5000)), "it has expired");
        }
    }
}
