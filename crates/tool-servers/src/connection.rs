//! One connection to one server.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, GetPromptRequestParams,
    Implementation, JsonObject, PaginatedRequestParams, Prompt, PromptMessage, ReadResourceRequestParams,
    Resource, ResourceContents, ServerCapabilities, Tool,
};
use rmcp::service::{NotificationContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::config::{Connect, ServerConfig, ServerName};
use crate::login::{self, CredentialFile};
use crate::process::{MAX_ANSWER, Process};
use crate::untrusted::clean;

/// The most bytes of an error.
const MAX_ERROR: usize = 1024;
/// The most tools of one server that are looked at.
pub(crate) const MAX_LISTED: usize = 10_000;
/// The most pages of its list.
const MAX_PAGES: usize = 100;
/// The longest time for connecting to an address.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Whether a server has reported that what it offers has changed.
#[derive(Debug, Default)]
pub(crate) struct ChangeFlags {
    tools: AtomicBool,
    offers: AtomicBool,
    told: Notify,
}

impl ChangeFlags {
    /// Whether its tools have changed since this was last called.
    pub(crate) fn take_tools(&self) -> bool {
        self.tools.swap(false, Ordering::AcqRel)
    }

    /// Waits until it reports that its tools have changed.
    pub(crate) async fn tools_changed(&self) {
        self.told.notified().await;
    }

    /// Whether its resources or prompts have changed since this was last called.
    pub(crate) fn take_offers(&self) -> bool {
        self.offers.swap(false, Ordering::AcqRel)
    }
}

/// Handles what a server sends by itself. Its requests (for a model's answer, for the user's input) are refused.
struct ServerMessageHandler(Arc<ChangeFlags>);

impl ClientHandler for ServerMessageHandler {
    fn get_info(&self) -> ClientConfig {
        let we = Implementation::new("headstart", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), we)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.tools.store(true, Ordering::Release);
        self.0.told.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.offers.store(true, Ordering::Release);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.offers.store(true, Ordering::Release);
    }
}

/// A connection to a running server. Dropping it ends it; [`close`](Self::close) ends it in order.
pub(crate) struct Connection {
    service: RunningService<RoleClient, ServerMessageHandler>,
    process: Option<Process>,
    /// The bytes that it has sent without being asked.
    unsolicited_bytes: Arc<AtomicU64>,
    timeout: Duration,
    credentials: Credentials,
}

/// The credentials for a server.
struct Credentials {
    server: ServerName,
    is_http: bool,
    bearer: Option<String>,
    /// The kept login, if there is no token and a login can be kept.
    login: Option<CredentialFile>,
    /// Whether the user is logged in.
    logged_in: bool,
}

impl Credentials {
    fn of(config: &ServerConfig) -> Self {
        let (is_http, bearer) = match &config.connect {
            Connect::Command { .. } => (false, None),
            Connect::Http { bearer, .. } => (true, bearer.clone()),
        };
        Self {
            server: config.name.clone(),
            is_http,
            bearer,
            login: CredentialFile::of(config),
            logged_in: false,
        }
    }

    /// What must not appear in any error or result.
    fn secrets(&self) -> Vec<String> {
        self.bearer.iter().cloned().chain(self.login.iter().flat_map(CredentialFile::secrets)).collect()
    }

    /// The error if the server refuses the credentials, with what the user can do.
    fn authorization_error(&self) -> String {
        let name = &self.server;
        let log_in = format!("`/mcp login {name}` in a chat, or `headstart tool-servers login {name}`");
        match (&self.bearer, &self.login) {
            (Some(_), _) => "it does not take the token (401); see whether the variable that `bearer` names holds a valid one".to_owned(),
            (None, Some(_)) if self.logged_in => format!("its login has ended (401); {log_in}, logs in once more"),
            (None, Some(_)) => format!("it wants a login (401): {log_in}"),
            (None, None) => "it wants a token (401); set `bearer = \"env:NAME\"` to the name of a variable that holds one".to_owned(),
        }
    }

    /// The error if the server wants more permissions than the login has.
    fn missing_scopes_error(&self, scopes: &str) -> String {
        let Some(login) = self.login.as_ref().filter(|_| self.logged_in) else {
            return format!("its token does not permit this (403, insufficient_scope {scopes})");
        };
        login.note_missing_scopes(scopes);
        let name = &self.server;
        format!(
            "it wants more than its login permits (403, insufficient_scope {scopes}); `/mcp login {name}` in a chat, or `headstart tool-servers login {name}`, asks you for that"
        )
    }
}

impl Connection {
    /// Connects to a server. The error is the cause, in words.
    pub(crate) async fn open(config: &ServerConfig, changes: &Arc<ChangeFlags>) -> Result<Self, String> {
        let handler = ServerMessageHandler(Arc::clone(changes));
        let late = || format!("it did not answer within {} s", config.timeout.as_secs());
        let mut credentials = Credentials::of(config);
        match &config.connect {
            Connect::Command { line, environment, folder } => {
                let (process, output, input, unsolicited_bytes) = Process::start(line, environment, folder)?;
                let cause = match timeout(config.timeout, handler.serve((output, input))).await {
                    Ok(Ok(service)) => {
                        let process = Some(process);
                        return Ok(Self {
                            service,
                            process,
                            unsolicited_bytes,
                            timeout: config.timeout,
                            credentials,
                        });
                    }
                    Ok(Err(error)) => describe_error(&error, &[]),
                    Err(_) => late(),
                };
                let words = process.exit_description().await;
                Err(if words.is_empty() { cause } else { format!("{cause}; {words}") })
            }
            Connect::Http { url, bearer, .. } => {
                let authorized = login::authorized(config, credentials.login.as_ref()).await?;
                credentials.logged_in = authorized.is_some();
                let (plain, http) = (client()?, http(url, bearer.as_deref()));
                let begun = timeout(config.timeout, async {
                    match authorized {
                        Some(client) => {
                            handler.serve(StreamableHttpClientTransport::with_client(client, http)).await
                        }
                        None => handler.serve(StreamableHttpClientTransport::with_client(plain, http)).await,
                    }
                });
                let service = match begun.await {
                    Ok(Ok(service)) => service,
                    Ok(Err(error)) if error.is_authorization_required() => {
                        return Err(credentials.authorization_error());
                    }
                    Ok(Err(error)) => {
                        return Err(match missing_scopes(error.auth_challenge()) {
                            Some(scopes) => credentials.missing_scopes_error(&scopes),
                            None => describe_error(&error, &credentials.secrets()),
                        });
                    }
                    Err(_) => return Err(late()),
                };
                let (unsolicited_bytes, timeout) = (Arc::default(), config.timeout);
                Ok(Self { service, process: None, unsolicited_bytes, timeout, credentials })
            }
        }
    }

    /// Whether it still works.
    pub(crate) fn is_open(&self) -> bool {
        !self.service.is_transport_closed() && !self.service.is_closed()
    }

    /// Its tools, as it lists them, and whether the list is complete.
    pub(crate) async fn tools(&self) -> Result<(Vec<Tool>, bool), String> {
        if !self.has_capability(|can| can.tools.is_some()) {
            return Ok((Vec::new(), true));
        }
        self.list_all_pages("tools", |params| async {
            let page = self.service.list_tools(params).await?;
            Ok((page.tools, page.next_cursor))
        })
        .await
    }

    /// Its resources.
    pub(crate) async fn resources(&self) -> Result<Vec<Resource>, String> {
        if !self.has_capability(|can| can.resources.is_some()) {
            return Ok(Vec::new());
        }
        let listed = self.list_all_pages("resources", |params| async {
            let page = self.service.list_resources(params).await?;
            Ok((page.resources, page.next_cursor))
        });
        Ok(listed.await?.0)
    }

    /// Its prompts.
    pub(crate) async fn prompts(&self) -> Result<Vec<Prompt>, String> {
        if !self.has_capability(|can| can.prompts.is_some()) {
            return Ok(Vec::new());
        }
        let listed = self.list_all_pages("prompts", |params| async {
            let page = self.service.list_prompts(params).await?;
            Ok((page.prompts, page.next_cursor))
        });
        Ok(listed.await?.0)
    }

    fn has_capability(&self, what: impl Fn(&ServerCapabilities) -> bool) -> bool {
        self.service.peer_info().is_none_or(|info| what(&info.capabilities))
    }

    /// All pages of a list, up to the limit.
    async fn list_all_pages<T, F>(
        &self,
        what: &str,
        page: impl Fn(Option<PaginatedRequestParams>) -> F,
    ) -> Result<(Vec<T>, bool), String>
    where
        F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let listed = timeout(self.timeout, async {
            let (mut all, mut cursor) = (Vec::new(), None);
            for _ in 0..MAX_PAGES {
                self.unsolicited_bytes.store(0, Ordering::Relaxed);
                let (found, next) = page(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
                all.extend(found);
                cursor = next;
                if cursor.is_none() || MAX_LISTED < all.len() {
                    break;
                }
            }
            Ok((all, cursor.is_none()))
        });
        match listed.await {
            Ok(Ok(listed)) => Ok(listed),
            Ok(Err(error)) => Err(self.describe_cause(&error).await),
            Err(_) => Err(format!("it did not list its {what} within {} s", self.timeout.as_secs())),
        }
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, String> {
        let params = ReadResourceRequestParams::new(uri);
        Ok(self.answer(self.service.peer().read_resource(params)).await?.contents)
    }

    /// Requests a prompt.
    pub(crate) async fn prompt(&self, name: &str, args: JsonObject) -> Result<Vec<PromptMessage>, String> {
        let params = GetPromptRequestParams::new(name).with_arguments(args);
        Ok(self.answer(self.service.peer().get_prompt(params)).await?.messages)
    }

    /// Calls a tool. Dropping the future, or the time limit, cancels the call at the server.
    pub(crate) async fn call(&self, tool: &str, args: JsonObject) -> Result<CallToolResult, String> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        self.answer(self.service.peer().call_tool(params)).await
    }

    /// An answer within the time limit.
    async fn answer<T>(&self, asked: impl Future<Output = Result<T, ServiceError>>) -> Result<T, String> {
        self.unsolicited_bytes.store(0, Ordering::Relaxed);
        match timeout(self.timeout, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.describe_cause(&error).await),
            Err(_) => Err(format!(
                "it did not answer within {} s, or with more than {} MiB, and the call is cancelled",
                self.timeout.as_secs(),
                MAX_ANSWER >> 20
            )),
        }
    }

    /// A text with the credentials removed.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        redact(text.to_owned(), &self.credentials.secrets())
    }

    async fn describe_cause(&self, error: &ServiceError) -> String {
        if error.is_authorization_required() && self.credentials.is_http {
            return self.credentials.authorization_error();
        }
        if let Some(scopes) = missing_scopes(error.auth_challenge()) {
            return self.credentials.missing_scopes_error(&scopes);
        }
        let cause = match error {
            ServiceError::McpError(error) => clean(&self.without_secrets(&error.message), MAX_ERROR),
            error => describe_error(error, &self.credentials.secrets()),
        };
        match &self.process {
            Some(process) if !self.is_open() => {
                let words = process.exit_description().await;
                if words.is_empty() { cause } else { format!("{cause}; {words}") }
            }
            _ => cause,
        }
    }

    /// Ends it. Afterwards no process of it is left.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            process.end().await;
        }
    }
}

/// The permissions that a server wants in addition, if that is why it refuses; empty if it does not name them.
fn missing_scopes(challenge: Option<&str>) -> Option<String> {
    let challenge = challenge.filter(|challenge| challenge.contains("insufficient_scope"))?;
    let scopes = challenge.split_once("scope=\"").and_then(|(_, rest)| rest.split_once('"'));
    Some(scopes.map(|(scopes, _)| clean(scopes, 300).replace('\n', " ")).unwrap_or_default())
}

/// An error and its sources, in the server's words and ours, without secrets.
pub(crate) fn describe_error(error: &dyn Error, secrets: &[String]) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    clean(&redact(text, secrets), MAX_ERROR)
}

fn redact(text: String, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    secrets
        .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "[token]") } else { text })
}

/// A client that follows no redirect away from the address that the user wrote.
pub(crate) fn client() -> Result<reqwest::Client, String> {
    headstart_providers::install_tls_provider();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIME)
        .redirect(Policy::none())
        .referer(false)
        // Reusing a connection is slow if part of an answer was left unread.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("headstart/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| error.to_string())
}

fn http(url: &str, bearer: Option<&str>) -> StreamableHttpClientTransportConfig {
    // The library takes a larger event for a lost connection, and asks for it again and again.
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(MAX_ANSWER)
        .max_json_response_size(MAX_ANSWER);
    match bearer {
        Some(token) => config.auth_header(token),
        None => config,
    }
}
