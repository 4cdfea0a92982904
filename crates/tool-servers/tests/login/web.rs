//! Servers on loopback that answer as a test says, and a browser that follows redirects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::{Url, form_urlencoded};

/// A request to a server.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl RecordedRequest {
    pub(crate) fn form(&self) -> BTreeMap<String, String> {
        form_urlencoded::parse(self.body.as_bytes()).into_owned().collect()
    }
}

/// An answer of a server.
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    /// Whether the body never ends.
    pub(crate) endless: bool,
}

pub(crate) fn answer(status: u16, body: impl Into<String>) -> TestResponse {
    TestResponse { status, headers: Vec::new(), body: body.into(), endless: false }
}

pub(crate) fn json(body: &serde_json::Value) -> TestResponse {
    answer(200, body.to_string()).with("Content-Type", "application/json")
}

impl TestResponse {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A server that keeps the requests that it gets.
pub(crate) struct TestServer {
    pub(crate) origin: String,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl TestServer {
    /// Starts a server. `answers` gets the server's own origin with each request.
    pub(crate) async fn start(
        answers: impl Fn(&str, &RecordedRequest) -> TestResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<RecordedRequest>>>::default();
        let (log, answers, own) = (Arc::clone(&asked), Arc::new(answers), origin.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answers, own) = (Arc::clone(&log), Arc::clone(&answers), own.clone());
                tokio::spawn(async move {
                    serve(stream, &log, |asked| answers(&own, asked)).await;
                });
            }
        });
        Self { origin, asked }
    }

    /// The requests for a path.
    pub(crate) fn asked(&self, path: &str) -> Vec<RecordedRequest> {
        self.asked.lock().unwrap().iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// Everything that was ever sent to the server, as text.
    pub(crate) fn heard(&self) -> String {
        format!("{:?}", self.asked.lock().unwrap())
    }
}

async fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<RecordedRequest>>,
    answers: impl Fn(&RecordedRequest) -> TestResponse,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut first = String::new();
        stream.read_line(&mut first).await.ok().filter(|length| 0 < *length)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
        stream.read_exact(&mut body).await.ok()?;
        let url = Url::parse(&format!("http://x{target}")).ok()?;
        let asked = RecordedRequest {
            method,
            path: url.path().to_owned(),
            query: url.query_pairs().into_owned().collect(),
            headers,
            body: String::from_utf8(body).ok()?,
        };
        log.lock().unwrap().push(asked.clone());
        let answer = answers(&asked);
        let headers: Vec<_> =
            answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("HTTP/1.1 {} .\r\n{}", answer.status, headers.concat());
        let out = stream.get_mut();
        if answer.endless {
            out.write_all(format!("{head}\r\n{{\"a\":\"").as_bytes()).await.ok()?;
            loop {
                out.write_all(&[b'x'; 8 * 1024]).await.ok()?;
            }
        }
        let head = format!("{head}Content-Length: {}\r\n\r\n{}", answer.body.len(), answer.body);
        out.write_all(head.as_bytes()).await.ok()?;
    }
}

/// Opens an address as a browser does and follows redirects. Returns the last answer's status and body.
pub(crate) async fn browse(address: &str) -> (u16, String) {
    let mut address = Url::parse(address).unwrap();
    for _ in 0..5 {
        let (status, location, page) = get(&address, None).await;
        match location {
            Some(next) => address = address.join(&next).unwrap(),
            None => return (status, page),
        }
    }
    panic!("it leads in a circle: {address}");
}

/// Sends one request. `host` replaces the address's own host in the header.
pub(crate) async fn get(address: &Url, host: Option<&str>) -> (u16, Option<String>, String) {
    let own = format!("{}:{}", address.host_str().unwrap(), address.port().unwrap());
    let mut stream = TcpStream::connect(&own).await.unwrap();
    let target = &address[url::Position::BeforePath..url::Position::AfterQuery];
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host.unwrap_or(&own));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).await.unwrap();
    let status = first.split(' ').nth(1).unwrap().parse().unwrap();
    let (mut location, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "location" => location = Some(value.to_owned()),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut page = vec![0; length];
    stream.read_exact(&mut page).await.unwrap();
    (status, location, String::from_utf8(page).unwrap())
}
