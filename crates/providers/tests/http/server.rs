//! A provider on the loopback that follows a script. It speaks HTTP/1.1 by hand, so that it can also break the
//! protocol.
#![expect(clippy::unwrap_used, reason = "a server of tests; its failures are theirs")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// What the server does after it has read the request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends these bytes as they are.
    Raw(Vec<u8>),
    /// Sends these bytes as one chunk of a chunked body.
    Chunk(Vec<u8>),
    /// Ends the chunked body.
    LastChunk,
    /// Sends this chunk again and again, with this pause in between.
    ForEver(Vec<u8>, Duration),
    /// Closes the connection in such a way that the client gets an error.
    Reset,
    /// Does nothing for this long.
    Wait(Duration),
    /// Does nothing until the test notifies it.
    Until(Arc<Notify>),
    /// Reads until the client closes the connection, and then reports that.
    UntilClientLeaves,
}

/// Makes the steps for a request from its body.
type Answering = Box<dyn FnOnce(&str) -> Vec<Step> + Send>;

pub(crate) struct Server {
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// Receives a message for each connection whose script has ended.
    pub(crate) client_left: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Serves one connection with these steps.
    pub(crate) async fn start(steps: Vec<Step>) -> Self {
        Self::start_each([steps]).await
    }

    /// Serves connections one after the other, each with its script. The last script is repeated forever.
    pub(crate) async fn start_each(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let mut scripts: VecDeque<_> = scripts.into_iter().collect();
        Self::serving(move || {
            let script = if scripts.len() == 1 { scripts[0].clone() } else { scripts.pop_front().unwrap() };
            Box::new(move |_: &str| script)
        })
        .await
    }

    /// Serves every connection with the steps that the provider makes from the body of its request.
    pub(crate) async fn answering(provider: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let provider = Arc::new(provider);
        Self::serving(move || {
            let provider = Arc::clone(&provider);
            Box::new(move |body: &str| provider(body))
        })
        .await
    }

    /// Serves connections in the order in which they arrive.
    async fn serving(mut next: impl FnMut() -> Answering + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (left, client_left) = mpsc::unbounded_channel();
        let log = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let answering = next();
                let (log, left) = (Arc::clone(&log), left.clone());
                tokio::spawn(async move {
                    let request = read_request(&mut socket).await;
                    let body = request.split_once("\r\n\r\n").unwrap().1;
                    let script = answering(body);
                    log.lock().unwrap().push(request);
                    for step in script {
                        if play(&mut socket, step).await.is_err() {
                            break;
                        }
                    }
                    let _ = left.send(());
                });
            }
        });
        Self { base_url, requests, client_left }
    }

    /// The head and body of the first request.
    pub(crate) fn request(&self) -> (String, String) {
        self.requests().swap_remove(0)
    }

    /// The heads and bodies of all requests.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        let requests = self.requests.lock().unwrap();
        let split = |request: &String| {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            (head.to_owned(), body.to_owned())
        };
        requests.iter().map(split).collect()
    }
}

async fn chunk(socket: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    socket.write_all(bytes).await?;
    socket.write_all(b"\r\n").await
}

async fn play(socket: &mut TcpStream, step: Step) -> std::io::Result<()> {
    match step {
        Step::Raw(bytes) => socket.write_all(&bytes).await?,
        Step::Chunk(bytes) => chunk(socket, &bytes).await?,
        Step::ForEver(bytes, apart) => loop {
            chunk(socket, &bytes).await?;
            tokio::time::sleep(apart).await;
        },
        Step::Reset => {
            socket.set_zero_linger()?;
            // The error ends the script, so that nothing else is sent.
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        Step::LastChunk => socket.write_all(b"0\r\n\r\n").await?,
        Step::Wait(time) => tokio::time::sleep(time).await,
        Step::Until(told) => told.notified().await,
        Step::UntilClientLeaves => {
            let mut sink = [0; 64];
            while 0 < socket.read(&mut sink).await? {}
        }
    }
    socket.flush().await
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_string();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if length.unwrap_or(0) <= body.len() {
                return text;
            }
        }
        let read = socket.read(&mut buffer).await.unwrap();
        assert!(0 < read, "the client hung up in the middle of its request");
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// The head of an answer that is streamed.
pub(crate) fn streaming() -> Step {
    streaming_as("text/event-stream")
}

pub(crate) fn streaming_as(kind: &str) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    Step::Raw(head.into_bytes())
}

/// One server-sent event.
pub(crate) fn event(data: &str) -> Step {
    Step::Chunk(format!("data: {data}\n\n").into_bytes())
}

/// A whole answer that is not streamed.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Raw(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes(),
    )]
}
