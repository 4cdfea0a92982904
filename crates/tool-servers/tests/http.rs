//! A server behind an address (streamable HTTP) that answers slowly, drops connections, refuses and loses sessions; and
//! single tools behind an address.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headstart_overlay_fs::{MemoryTree, Overlay, Quota, WorkspacePath};
use headstart_tool_gate::GateContext;
use headstart_tool_servers::{
    Connect, HttpTool, HttpToolConfig, ServerConfig, ServerName, ToolServers, Trust,
};
use headstart_toolbox::{ItemUri, Tool, ToolContext, ToolError, ToolLimits, ToolOutput};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How the server misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum ServerBehaviour {
    Well,
    /// Answers are sent as events, byte by byte.
    Drips,
    /// The connection ends in the middle of the answer to a call.
    Drops,
    /// The server requires a token that it was not given.
    WantsToken,
    /// The server loses its session after the list of tools.
    Forgets,
    /// The server's stream of events says that the tools changed.
    Changes,
    /// The server redirects its caller to another address.
    Redirects,
    /// The server never answers a call.
    Silent,
    /// The server answers a call with 18 MB, as JSON or as an event.
    Much,
    MuchAsEvent,
}

/// The method, the body and the token of each request.
type RequestLog = Mutex<Vec<(String, String, Option<String>)>>;

struct Server {
    address: String,
    heard: Arc<RequestLog>,
}

impl Server {
    async fn start(behaves: ServerBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::<RequestLog>::default();
        let (log, sessions) = (Arc::clone(&heard), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, sessions) = (Arc::clone(&log), Arc::clone(&sessions));
                tokio::spawn(async move { serve(stream, behaves, &log, &sessions).await });
            }
        });
        Self { address, heard }
    }

    fn heard(&self, method: &str) -> usize {
        self.heard
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, body, _)| body.contains(&format!("\"method\":\"{method}\"")))
            .count()
    }
}

#[expect(clippy::too_many_lines, reason = "a table, one entry for each behaviour of a server")]
async fn serve(
    stream: TcpStream,
    behaves: ServerBehaviour,
    log: &RequestLog,
    sessions: &AtomicUsize,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        stream.read_line(&mut head).await.ok().filter(|length| 0 < *length)?;
        let (mut length, mut token, mut session) = (0, None, None);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => token = Some(value.to_owned()),
                "mcp-session-id" => session = value.parse::<usize>().ok(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let body = String::from_utf8(body).ok()?;
        let method = head.split(' ').next()?.to_owned();
        log.lock().unwrap().push((method.clone(), body.clone(), token.clone()));
        let out = stream.get_mut();
        if behaves == ServerBehaviour::Redirects {
            plain(out, "307 Temporary Redirect", "Location: http://127.0.0.1:1/elsewhere\r\n", "").await?;
            continue;
        }
        if behaves == ServerBehaviour::WantsToken && token.as_deref() != Some("Bearer right-token") {
            plain(out, "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"\r\n", "no").await?;
            continue;
        }
        if method == "GET" {
            if behaves != ServerBehaviour::Changes {
                plain(out, "405 Method Not Allowed", "", "").await?;
                continue;
            }
            out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").await.ok()?;
            loop {
                out.write_all(
                    b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
                )
                .await
                .ok()?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        if method == "DELETE" {
            plain(out, "200 OK", "", "").await?;
            continue;
        }
        let message: Value = serde_json::from_str(&body).ok()?;
        if session.is_some_and(|session| session != sessions.load(Ordering::SeqCst)) {
            plain(out, "404 Not Found", "", "").await?;
            continue;
        }
        let Some(id) = message.get("id") else {
            plain(out, "202 Accepted", "", "").await?;
            continue;
        };
        let mut header = String::new();
        let result = match message["method"].as_str()? {
            "initialize" => {
                header = format!("Mcp-Session-Id: {}\r\n", sessions.fetch_add(1, Ordering::SeqCst) + 1);
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "h", "version": "1" } })
            }
            "tools/list" => {
                if behaves == ServerBehaviour::Forgets && sessions.load(Ordering::SeqCst) == 1 {
                    sessions.fetch_add(1, Ordering::SeqCst);
                }
                let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
                json!({ "tools": [{ "name": "look", "inputSchema": { "type": "object" }, "annotations": hints }] })
            }
            "tools/call" if behaves == ServerBehaviour::Silent => {
                tokio::time::sleep(Duration::from_secs(60)).await;
                return None;
            }
            "tools/call" if behaves == ServerBehaviour::Drops => {
                out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"json").await.ok()?;
                return None;
            }
            "tools/call" if matches!(behaves, ServerBehaviour::Much | ServerBehaviour::MuchAsEvent) => {
                json!({ "content": [{ "type": "text", "text": "much ".repeat(3_600_000) }] })
            }
            _ => json!({ "content": [{ "type": "text", "text": "seen" }] }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        if behaves == ServerBehaviour::Drips {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n{header}\r\n"
            );
            out.write_all(head.as_bytes()).await.ok()?;
            for byte in format!(": wait\n\nevent: message\ndata: {answer}\n\n").bytes() {
                out.write_all(&[byte]).await.ok()?;
                out.flush().await.ok()?;
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            return None;
        }
        if behaves == ServerBehaviour::MuchAsEvent {
            let event = format!("event: message\ndata: {answer}\n\n");
            plain(out, "200 OK", &format!("Content-Type: text/event-stream\r\n{header}"), &event).await?;
            continue;
        }
        plain(out, "200 OK", &format!("Content-Type: application/json\r\n{header}"), &answer).await?;
    }
}

async fn plain(out: &mut TcpStream, status: &str, header: &str, body: &str) -> Option<()> {
    let text = format!("HTTP/1.1 {status}\r\n{header}Content-Length: {}\r\n\r\n{body}", body.len());
    out.write_all(text.as_bytes()).await.ok()
}

fn config(url: &str, bearer: Option<&str>, ahead: bool) -> ServerConfig {
    ServerConfig {
        name: ServerName::new("far").unwrap(),
        connect: Connect::Http { url: url.to_owned(), bearer: bearer.map(str::to_owned), login: None, ahead },
        trust: Trust::ReadOnlyHints,
        timeout: Duration::from_secs(5),
    }
}

async fn call(tool: &dyn Tool, attended: bool, args: Value) -> Result<String, ToolError> {
    call_for_items(tool, attended, args).await.map(ToolOutput::into_text)
}

async fn call_for_items(tool: &dyn Tool, attended: bool, args: Value) -> Result<ToolOutput, ToolError> {
    let files = MemoryTree::from_files([("a.txt", "a\n")]).unwrap();
    let view = Arc::new(Overlay::new(Arc::new(files), Quota::default()));
    let gate = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
    let limits = ToolLimits::default();
    let context =
        ToolContext { view: &view, gate: &gate, limits: &limits, hardened: None, consented: true, attended };
    tool.run(args.as_object().unwrap(), context).await
}

async fn why(tool: &dyn Tool) -> String {
    call(tool, true, json!({})).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_call_goes_there_and_back_whole_or_byte_by_byte() {
    for behaves in [ServerBehaviour::Well, ServerBehaviour::Drips] {
        let server = Server::start(behaves).await;
        let servers = ToolServers::start(vec![config(&server.address, None, false)]).await;
        assert_eq!(servers.start_reports()[0].tools, Ok(1));
        assert_eq!(call(&*servers.tools()[0], true, json!({})).await.unwrap(), "seen");
        servers.close().await;
    }
}

#[tokio::test]
async fn a_large_answer_is_cut_and_no_silence() {
    for behaves in [ServerBehaviour::Much, ServerBehaviour::MuchAsEvent] {
        let server = Server::start(behaves).await;
        let config =
            ServerConfig { timeout: Duration::from_secs(60), ..config(&server.address, None, false) };
        let servers = ToolServers::start(vec![config]).await;
        let said = call(&*servers.tools()[0], true, json!({})).await.unwrap();
        assert!(said.starts_with("much much") && said.ends_with("[cut]"), "{}", said.len());
        servers.close().await;
    }
}

#[tokio::test]
async fn one_that_drops_the_connection_is_an_error_of_the_call() {
    let server = Server::start(ServerBehaviour::Drops).await;
    let servers = ToolServers::start(vec![config(&server.address, None, false)]).await;
    let why = why(&*servers.tools()[0]).await;
    assert!(why.starts_with("tool server far: "), "{why}");
}

#[tokio::test]
async fn one_that_wants_a_token_says_so_and_the_token_is_in_no_error() {
    let server = Server::start(ServerBehaviour::WantsToken).await;
    for (token, says) in [(None, "set `bearer"), (Some("wrong-token"), "does not take the token")] {
        let servers = ToolServers::start(vec![config(&server.address, token, false)]).await;
        let why = servers.start_reports()[0].tools.clone().unwrap_err();
        assert!(why.contains("401") && why.contains(says) && !why.contains("wrong-token"), "{why}");
    }
    let servers = ToolServers::start(vec![config(&server.address, Some("right-token"), false)]).await;
    assert_eq!(servers.start_reports()[0].tools, Ok(1));
    assert_eq!(call(&*servers.tools()[0], true, json!({})).await.unwrap(), "seen");
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_anew() {
    let server = Server::start(ServerBehaviour::Forgets).await;
    let servers = ToolServers::start(vec![config(&server.address, None, false)]).await;
    assert_eq!(call(&*servers.tools()[0], true, json!({})).await.unwrap(), "seen");
    assert_eq!(server.heard("initialize"), 2);
}

#[tokio::test]
async fn changes_are_told_once() {
    let server = Server::start(ServerBehaviour::Changes).await;
    let servers = ToolServers::start(vec![config(&server.address, None, false)]).await;
    let mut notified = Vec::new();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        notified.extend(servers.notices());
    }
    assert_eq!(notified.len(), 1, "{notified:?}");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere() {
    let server = Server::start(ServerBehaviour::Redirects).await;
    let servers = ToolServers::start(vec![config(&server.address, Some("token"), false)]).await;
    assert!(servers.start_reports()[0].tools.is_err(), "{:?}", servers.start_reports());
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() {
    let server = Server::start(ServerBehaviour::Silent).await;
    let config = ServerConfig { timeout: Duration::from_secs(1), ..config(&server.address, None, false) };
    let servers = ToolServers::start(vec![config]).await;
    assert!(why(&*servers.tools()[0]).await.contains("within 1 s"));
    for _ in 0..100 {
        if 0 < server.heard("notifications/cancelled") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", server.heard.lock().unwrap());
}

/// A call ahead would send a query out of the machine before its user asked for anything.
#[tokio::test]
async fn nothing_is_asked_ahead_over_a_network_that_the_user_did_not_open() {
    let server = Server::start(ServerBehaviour::Well).await;
    for ahead in [false, true] {
        let servers = ToolServers::start(vec![config(&server.address, None, ahead)]).await;
        let tool = &servers.tools()[0];
        assert_eq!(tool.may_run_ahead(), ahead);
        let before = server.heard("tools/call");
        assert_eq!(call(&**tool, false, json!({})).await.is_ok(), ahead);
        assert_eq!(server.heard("tools/call") - before, usize::from(ahead));
    }
}

fn http_tool(url: &str) -> HttpTool {
    let parameters =
        json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    HttpTool::new(&HttpToolConfig {
        name: "deploy_status".into(),
        url: url.to_owned(),
        description: "How the deploy goes".into(),
        parameters: parameters.as_object().cloned().unwrap(),
        timeout: Duration::from_secs(5),
    })
    .unwrap()
}

/// A server that gives the same answer to each request. Returns its address and the requests that it gets.
async fn answers(status: &'static str, body: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 64 * 1024];
            let mut text = String::new();
            while !text.contains("}}") {
                let Ok(length @ 1..) = stream.read(&mut buffer).await else { break };
                text.push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
            log.lock().unwrap().push(text);
            let _ = plain(&mut stream, status, "Connection: close\r\n", body).await;
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_tool_behind_an_address_is_posted_its_arguments() {
    let (url, asked) = answers("200 OK", r#"{"output":[{"name":"a","description":"","content":"one\u001b[2J"},{"name":"b"},{"content":"two"}]}"#).await;
    let tool = http_tool(&url);
    assert_eq!(call(&tool, true, json!({ "n": "5" })).await.unwrap(), "one\n\ntwo");
    let asked = asked.lock().unwrap().join("\n");
    assert!(asked.starts_with("POST / ") && asked.ends_with(r#"{"arguments":{"n":5}}"#), "{asked}");
}

#[tokio::test]
async fn what_it_answers_has_names_and_places() {
    let (url, _) = answers(
        "200 OK",
        r#"{"output":[{"name":"log","description":"of run 7","content":"one","uri":"https://ci.example.org/7"},{"name":"empty"},
            {"content":"two","uri":{"type":"file","value":"file:///home/ada/project/ci.yml"}},{"content":"three","uri":"file:///etc/passwd"}]}"#,
    )
    .await;
    let (text, items) = call_for_items(&http_tool(&url), true, json!({ "n": 5 })).await.unwrap().into_parts();
    assert_eq!(text, "one\n\ntwo\n\nthree");
    let named: Vec<_> = items.iter().map(|item| (&*item.name, &*item.description)).collect();
    assert_eq!(named, [("log", "of run 7"), ("deploy_status", ""), ("deploy_status", "")]);
    let file = ItemUri::File { path: WorkspacePath::parse("ci.yml").unwrap(), lines: None };
    let address = |address: &str| Some(ItemUri::Url(address.to_owned()));
    let places: Vec<_> = items.into_iter().map(|item| item.uri).collect();
    assert_eq!(places, [address("https://ci.example.org/7"), Some(file), address("file:///etc/passwd")]);
}

#[tokio::test]
async fn an_item_that_it_hides_or_gives_a_status_is_shown_so() {
    let answer = r#"{"output":[{"content":"for the model","hidden":true},{"content":"red","status":"failed\u001b[2J"},
        {"content":"odd","hidden":"yes","status":7}]}"#;
    let (url, _) = answers("200 OK", answer).await;
    let (text, items) = call_for_items(&http_tool(&url), true, json!({ "n": 5 })).await.unwrap().into_parts();
    assert_eq!(text, "for the model\n\nred\n[Status: failed]\n\nodd");
    let shown: Vec<_> = items.iter().map(|item| (item.hidden, item.status.as_deref())).collect();
    assert_eq!(shown, [(true, None), (false, Some("failed")), (false, None)]);
}

#[tokio::test]
async fn what_a_failure_comes_from_is_below_it() {
    let (url, _) = answers("200 OK", "<html>").await;
    let error = call(&http_tool(&url), true, json!({ "n": 5 })).await.unwrap_err();
    let json = error.source().and_then(<dyn Error>::downcast_ref::<serde_json::Error>);
    assert!(json.is_some_and(serde_json::Error::is_syntax), "{error:?}");

    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let secret = "sk-in-the-address";
    let tool = http_tool(&format!("http://{unused}/?key={secret}"));
    let error = call(&tool, true, json!({ "n": 5 })).await.unwrap_err();
    let (mut below, mut refused) = (error.source(), None);
    while let Some(cause) = below {
        refused = refused.or(cause.downcast_ref::<io::Error>().map(io::Error::kind));
        assert!(!format!("{cause} {cause:?}").contains(secret), "{cause:?}");
        below = cause.source();
    }
    assert_eq!(refused, Some(io::ErrorKind::ConnectionRefused), "{error:?}");
    assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
}

#[tokio::test]
async fn one_that_fails_is_an_error_with_its_cause() {
    for (status, body, says) in [
        ("500 Internal Server Error", "out of order", "500 Internal Server Error: out of order"),
        ("302 Found", "", "302"),
        ("200 OK", "<html>", "{\"output\""),
        ("200 OK", "{\"output\": 5}", "{\"output\""),
    ] {
        let (url, asked) = answers(status, body).await;
        let tool = http_tool(&url);
        let why = call(&tool, true, json!({ "n": 5 })).await.unwrap_err().to_string();
        assert!(why.starts_with("http tool deploy_status: ") && why.contains(says), "{why}");
        let wrong = call(&tool, true, json!({})).await.unwrap_err().to_string();
        let ahead = call(&tool, false, json!({ "n": 5 })).await.unwrap_err().to_string();
        assert!(wrong.contains("\"n\"") && ahead.contains("ahead"), "{wrong} {ahead}");
        assert_eq!(asked.lock().unwrap().len(), 1);
    }
}
