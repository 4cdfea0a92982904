//! One connection to one server.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, JsonObject,
    PaginatedRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use tokio::time::timeout;

use crate::config::{Connect, ServerConfig};
use crate::process::Process;
use crate::untrusted::clean;

/// Bytes of an error.
const MAX_ERROR: usize = 1024;
/// Most tools of one server that are looked at, and most pages of its list.
pub(crate) const MAX_LISTED: usize = 10_000;
const MAX_PAGES: usize = 100;
/// How long it takes to connect to an address, at most.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Whether a server said that its tools are other ones by now.
#[derive(Debug, Default)]
pub(crate) struct Changes(AtomicBool);

impl Changes {
    /// Whether it did, since this was asked last.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

/// What a server may say to us. Whatever else it asks for (a model's answer, the user's) it is refused.
struct Handler(Arc<Changes>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let we = Implementation::new("headstart", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), we)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.0.store(true, Ordering::Release);
    }
}

/// A server that answers. It ends with this value, and orderly by [`close`](Self::close).
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    process: Option<Process>,
    /// What it said since it was asked last.
    unasked: Arc<AtomicU64>,
    timeout: Duration,
    secret: Option<String>,
}

impl Connection {
    /// Reaches a server. The error is the cause, in words.
    pub(crate) async fn open(config: &ServerConfig, changes: &Arc<Changes>) -> Result<Self, String> {
        let handler = Handler(Arc::clone(changes));
        let late = || format!("it did not answer within {} s", config.timeout.as_secs());
        match &config.connect {
            Connect::Command { line, environment, folder } => {
                let (process, output, input, unasked) = Process::start(line, environment, folder)?;
                let cause = match timeout(config.timeout, handler.serve((output, input))).await {
                    Ok(Ok(service)) => {
                        let process = Some(process);
                        return Ok(Self { service, process, unasked, timeout: config.timeout, secret: None });
                    }
                    Ok(Err(error)) => said(&error, None),
                    Err(_) => late(),
                };
                let words = process.last_words().await;
                Err(if words.is_empty() { cause } else { format!("{cause}; {words}") })
            }
            Connect::Http { url, bearer, .. } => {
                let transport =
                    StreamableHttpClientTransport::with_client(client()?, http(url, bearer.as_deref()));
                let service = match timeout(config.timeout, handler.serve(transport)).await {
                    Ok(Ok(service)) => service,
                    Ok(Err(error)) if error.is_authorization_required() => {
                        return Err(needs_login(bearer.is_some()));
                    }
                    Ok(Err(error)) => return Err(said(&error, bearer.as_deref())),
                    Err(_) => return Err(late()),
                };
                let (unasked, timeout) = (Arc::default(), config.timeout);
                Ok(Self { service, process: None, unasked, timeout, secret: bearer.clone() })
            }
        }
    }

    /// Whether it can be asked.
    pub(crate) fn is_open(&self) -> bool {
        !self.service.is_transport_closed() && !self.service.is_closed()
    }

    /// Its tools, as it lists them; `false`: there are more than anybody looks at.
    pub(crate) async fn tools(&self) -> Result<(Vec<Tool>, bool), String> {
        if self.service.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok((Vec::new(), true));
        }
        let listed = timeout(self.timeout, async {
            let (mut tools, mut cursor) = (Vec::new(), None);
            for _ in 0..MAX_PAGES {
                self.unasked.store(0, Ordering::Relaxed);
                let params = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.service.list_tools(Some(params)).await?;
                tools.extend(page.tools);
                cursor = page.next_cursor;
                if cursor.is_none() || MAX_LISTED < tools.len() {
                    break;
                }
            }
            Ok((tools, cursor.is_none()))
        });
        match listed.await {
            Ok(Ok(listed)) => Ok(listed),
            Ok(Err(error)) => Err(self.cause(&error).await),
            Err(_) => Err(format!("it did not list its tools within {} s", self.timeout.as_secs())),
        }
    }

    /// Calls a tool. Whoever drops the future, and a limit of time, cancels the call with the server.
    pub(crate) async fn call(&self, tool: &str, args: JsonObject) -> Result<CallToolResult, String> {
        self.unasked.store(0, Ordering::Relaxed);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        match timeout(self.timeout, self.service.peer().call_tool(params)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(self.cause(&error).await),
            Err(_) => Err(format!(
                "it did not answer within {} s, and the call is cancelled",
                self.timeout.as_secs()
            )),
        }
    }

    async fn cause(&self, error: &ServiceError) -> String {
        if error.is_authorization_required() {
            return needs_login(self.secret.is_some());
        }
        let cause = match error {
            ServiceError::McpError(error) => clean(&error.message, MAX_ERROR),
            error => said(error, self.secret.as_deref()),
        };
        match &self.process {
            Some(process) if !self.is_open() => {
                let words = process.last_words().await;
                if words.is_empty() { cause } else { format!("{cause}; {words}") }
            }
            _ => cause,
        }
    }

    /// Ends it; when this returns no process of it is left.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            process.end().await;
        }
    }
}

fn needs_login(has_token: bool) -> String {
    if has_token {
        "it does not take the token (401); see whether the variable that `bearer` names holds a valid one"
            .to_owned()
    } else {
        "it wants a token (401); set `bearer = \"env:NAME\"` to the name of a variable that holds one"
            .to_owned()
    }
}

/// An error and its causes, in the server's words and ours, without a secret.
fn said(error: &dyn Error, secret: Option<&str>) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    let text = secret
        .filter(|secret| !secret.is_empty())
        .map_or(text.clone(), |secret| text.replace(secret, "[token]"));
    clean(&text, MAX_ERROR)
}

/// A client that goes nowhere but to the address that its user wrote.
pub(crate) fn client() -> Result<reqwest::Client, String> {
    headstart_providers::choose_tls();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIME)
        .redirect(Policy::none())
        .referer(false)
        // What was left unread of an answer makes a kept connection slow.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("headstart/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| error.to_string())
}

fn http(url: &str, bearer: Option<&str>) -> StreamableHttpClientTransportConfig {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    match bearer {
        Some(token) => config.auth_header(token),
        None => config,
    }
}
