//! A server that asks for TLS, with a certificate that an authority of our own has signed, as in many companies.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::support::server::{Server, says};
use crate::support::{Outcome, Session};

/// The authority that signed the certificate, or another one.
fn authority(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/support/tls").join(name)
}

/// Passes requests on to a server without TLS. Returns the address.
fn serve_tls(behind: &Server) -> String {
    let pem = std::fs::read(authority("server.pem")).unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&pem).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behind = behind.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    // The thread ends with the process of the test.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, behind) = (Arc::clone(&config), behind.clone());
            // A client that trusts nobody here leaves, which is no failure of the server.
            std::thread::spawn(move || drop(pass_on(stream, config, &behind)));
        }
    });
    format!("https://{address}/v1")
}

/// Passes one request and its answer on.
fn pass_on(mut stream: TcpStream, config: Arc<ServerConfig>, behind: &str) -> io::Result<()> {
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut tls = Stream::new(&mut connection, &mut stream);
    let mut plain = TcpStream::connect(behind)?;
    let mut reader = BufReader::new(&mut tls);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body)?;
    plain.write_all(&head)?;
    plain.write_all(&body)?;
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer)?;
    tls.write_all(&answer)?;
    tls.conn.send_close_notify();
    tls.flush()
}

/// The hint names a variable, and what it says helps.
#[test]
fn a_private_authority_is_told_with_what_makes_it_trusted() {
    let server = Server::start(vec![says("Hello over TLS.")]);
    let address = serve_tls(&server);
    let ask = |trusted: &str| -> Outcome {
        let session = Session::with_project()
            .variable("OPENAI_API_KEY", "sk-tls-0123456789abcdef")
            .variable("SSL_CERT_FILE", &authority(trusted).display().to_string());
        session.run(&["--json", "speculate", "--model", "openai:test", "--base-url", &address, "go"])
    };
    let outcome = ask("another.pem");
    let words = outcome.to_string();
    for told in [
        "UnknownIssuer",
        "to trust whoever signed its certificate, name their file (PEM) in SSL_CERT_FILE, or add it to those of the system",
    ] {
        assert!(words.contains(told), "{outcome}");
    }
    assert!(server.requests().is_empty(), "nothing is sent to whom nobody trusts");
    let outcome = ask("authority.pem");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(server.requests().len(), 1, "{outcome}");
}
