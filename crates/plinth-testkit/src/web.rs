//! A small local web server that counts its connections.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request to a [`Web`] server.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Method, such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Body; empty if the request has no `Content-Length`. Invalid UTF-8 is replaced.
    pub body: String,
}

/// A response of a [`Web`] server.
#[derive(Clone, Debug)]
pub struct Reply {
    status: &'static str,
    headers: String,
    piece: Vec<u8>,
    times: u64,
    pause: Duration,
    said_length: Option<u64>,
    hangs: bool,
}

impl Reply {
    /// Creates a response with a body.
    pub fn new(status: &'static str, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = format!("Content-Type: {kind}\r\n");
        let piece = body.into();
        Self { status, headers, piece, times: 1, pause: Duration::ZERO, said_length: None, hangs: false }
    }

    /// Creates a successful response with the media type of a model.
    pub fn model(body: impl Into<Vec<u8>>) -> Self {
        Self::new("200 OK", "model/gltf-binary", body)
    }

    pub fn redirect(to: &str) -> Self {
        Self::new("302 Found", "text/plain", "").with_header("Location", to)
    }

    /// Creates a 404 response.
    pub fn missing() -> Self {
        Self::new("404 Not Found", "text/plain", "")
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        Self { headers: format!("{}{name}: {value}\r\n", self.headers), ..self }
    }

    /// Sends the body several times, with a pause after each repetition.
    #[must_use]
    pub fn repeated(self, times: u64, pause: Duration) -> Self {
        Self { times, pause, ..self }
    }

    /// Sets `Content-Length` to `length`, even if this is not the length of the body.
    #[must_use]
    pub fn saying_length(self, length: u64) -> Self {
        Self { said_length: Some(length), ..self }
    }

    /// Omits `Content-Length`. The end of the connection then marks the end of the body.
    #[must_use]
    pub fn saying_no_length(self) -> Self {
        Self { said_length: Some(u64::MAX), ..self }
    }

    /// Keeps the connection open after the body was sent.
    #[must_use]
    pub fn hanging(self) -> Self {
        Self { hangs: true, ..self }
    }

    fn write(&self, to: &mut dyn Write, with_body: bool) -> io::Result<()> {
        let length = self.said_length.unwrap_or_else(|| self.times.saturating_mul(self.piece.len() as u64));
        let length = if length == u64::MAX { String::new() } else { format!("Content-Length: {length}\r\n") };
        write!(to, "HTTP/1.1 {}\r\n{}{length}Connection: close\r\n\r\n", self.status, self.headers)?;
        if with_body {
            for _time in 0..self.times {
                to.write_all(&self.piece)?;
                to.flush()?;
                thread::sleep(self.pause);
            }
        }
        to.flush()
    }
}

/// A web server that runs until the process ends.
pub struct Web {
    address: SocketAddr,
    visits: Arc<AtomicUsize>,
    certificate: Option<String>,
}

type Answers = Arc<dyn Fn(&Visit) -> Reply + Send + Sync>;

/// Connections that stay open until the process ends.
static HANGING: Mutex<Vec<Box<dyn Write + Send>>> = Mutex::new(Vec::new());

impl Web {
    /// Starts an HTTP server on 127.0.0.1.
    pub fn start(answer: impl Fn(&Visit) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", answer)
    }

    /// Starts an HTTP server on `address`.
    pub fn start_at(address: &str, answer: impl Fn(&Visit) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(address, None, Arc::new(answer))
    }

    /// Starts an HTTPS server on 127.0.0.1 with a self-signed certificate.
    pub fn start_tls(answer: impl Fn(&Visit) -> Reply + Send + Sync + 'static) -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("TLS").with_no_client_auth().with_single_cert(chain, key).expect("a certificate");
        let certificate = Some(made.cert.pem());
        Self { certificate, ..Self::listen("127.0.0.1:0", Some(Arc::new(config)), Arc::new(answer)) }
    }

    fn listen(address: &str, tls: Option<Arc<ServerConfig>>, answers: Answers) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let visits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&visits);
        thread::spawn(move || {
            for socket in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let (tls, answers) = (tls.clone(), Arc::clone(&answers));
                thread::spawn(move || {
                    // Clients may disconnect or reject the certificate, so the errors of a connection are ignored.
                    let _gone = socket.and_then(|socket| serve(socket, tls, &answers));
                });
            }
        });
        Self { address, visits, certificate: None }
    }

    /// Returns the address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path, which must begin with a slash.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Returns the number of connections that the server has accepted.
    pub fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }

    /// Returns the certificate of an HTTPS server as PEM.
    pub fn certificate(&self) -> &str {
        self.certificate.as_deref().expect("an HTTPS server")
    }
}

fn serve(socket: TcpStream, tls: Option<Arc<ServerConfig>>, answers: &Answers) -> io::Result<()> {
    match tls {
        None => answer(socket, answers),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            answer(StreamOwned::new(connection, socket), answers)
        }
    }
}

fn answer<S: Read + Write + Send + 'static>(stream: S, answers: &Answers) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    let mut length = 0;
    while reader.read_line(&mut line)? > 2 {
        if let Some((_, value)) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut words = first.split(' ').map(str::to_owned);
    let visit = Visit { method: words.next().unwrap_or_default(), path: words.next().unwrap_or_default(), body };
    let reply = answers(&visit);
    let mut stream = reader.into_inner();
    reply.write(&mut stream, visit.method != "HEAD")?;
    if reply.hangs && visit.method != "HEAD" {
        HANGING.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(stream));
    }
    Ok(())
}
