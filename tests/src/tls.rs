//! A test's own certificates, and servers that speak TLS with them.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// An authority that no client trusts yet.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, "An authority of tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// Writes its certificate into a folder.
    pub fn write_to(&self, folder: &Path) -> PathBuf {
        let file = folder.join("authority.crt");
        std::fs::write(&file, &self.certificate).expect("written");
        file
    }

    /// A certificate for one name or address.
    pub fn issue(&self, name: &str) -> Identity {
        self.signed(&Self::asked_for(name))
    }

    /// An expired certificate.
    pub fn issue_expired(&self, name: &str) -> Identity {
        let mut params = Self::asked_for(name);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        self.signed(&params)
    }

    fn asked_for(name: &str) -> CertificateParams {
        CertificateParams::new(vec![name.to_owned()]).expect("a name")
    }

    fn signed(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed").pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    /// Writes certificate and key into a folder, in this order.
    pub fn write_to(&self, folder: &Path) -> [PathBuf; 2] {
        [("server.crt", &self.certificate), ("server.key", &self.key)].map(|(name, text)| {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("written");
            file
        })
    }
}

/// A PostgreSQL server that accepts only TLS connections: it stands before the bed's server, and passes on
/// the decrypted bytes.
#[derive(Debug)]
pub struct TlsServer {
    address: String,
    encrypted: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

/// The first message of a client that wants TLS.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

impl TlsServer {
    /// A server that presents `identity`, before the server at this address.
    pub async fn before(url: &str, identity: &Identity) -> Self {
        let upstream = between(url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let acceptor = acceptor(identity);
        let encrypted = Arc::new(AtomicUsize::new(0));
        let (mut serving, counted) = (JoinSet::new(), Arc::clone(&encrypted));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, upstream, counted) =
                    (acceptor.clone(), upstream.clone(), Arc::clone(&counted));
                connections.spawn(async move { serve(client, acceptor, &upstream, &counted).await });
            }
        });
        Self { address, encrypted, _serving: serving }
    }

    /// The same database through this server.
    pub fn url(&self, url: &str, query: &str) -> String {
        url.replacen(between(url), &self.address, 1) + query
    }

    /// How many connections have been encrypted so far.
    pub fn encrypted(&self) -> usize {
        self.encrypted.load(Ordering::Relaxed)
    }
}

/// Host and port of an address.
fn between(url: &str) -> &str {
    let rest = url.rsplit_once('@').expect("a user").1;
    rest.split_once('/').expect("a database").0
}

fn acceptor(identity: &Identity) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    TlsAcceptor::from(Arc::new(config.expect("key and certificate belong together")))
}

async fn serve(mut client: TcpStream, acceptor: TlsAcceptor, upstream: &str, encrypted: &AtomicUsize) {
    let mut first = [0; 8];
    if client.read_exact(&mut first).await.is_err() || first != TLS_REQUEST {
        // As with `hostssl` in pg_hba.conf: error 28000, sent unencrypted.
        let _ = client.write_all(&refusal()).await;
        return;
    }
    if client.write_all(b"S").await.is_err() {
        return;
    }
    let Ok(mut client) = acceptor.accept(client).await else { return };
    encrypted.fetch_add(1, Ordering::Relaxed);
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

fn refusal() -> Vec<u8> {
    let fields = b"SFATAL\0VFATAL\0C28000\0Mno pg_hba.conf entry, no encryption\0\0";
    let length = u32::try_from(fields.len() + 4).expect("short");
    [&b"E"[..], &length.to_be_bytes(), fields].concat()
}
