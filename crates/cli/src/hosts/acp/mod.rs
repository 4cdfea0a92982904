//! `headstart acp`: the chat for editors that speak the Agent Client Protocol, version 1, on standard input and output.
//!
//! The protocol's types come from its schema crate and are used only in this folder. Each session is a conversation of
//! `headstart_agent` with a task of its own (`session`); this module passes requests on to it.

mod client;
pub(in crate::hosts) mod offer;
mod opening;
mod options;
mod prompt;
mod questions;
mod rpc;
mod servers;
mod session;
mod stored;
pub(in crate::hosts) mod updates;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodTerminal, CancelNotification, ClientCapabilities,
    CloseSessionRequest, DeleteSessionRequest, Error, ForkSessionRequest, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, LoadSessionRequest, McpCapabilities, McpServer,
    NewSessionRequest, PromptCapabilities, PromptRequest, RequestId, ResumeSessionRequest,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionModeRequest,
};
use futures::future::join_all;
use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::conversation::{SessionSelector, words};
use headstart_machine::error::CliError;
use headstart_machine::system::signals::Signals;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use self::client::Client;
use self::rpc::Message;
use self::session::{OpeningAnswer, SessionHandle, SessionRequest};
use crate::hosts::lines::{self, InputLine, LineReader};
use crate::hosts::rpc::{PARSE_ERROR, RejectedLine};

/// The name that clients use for a login by terminal; it is older than the protocol's own word.
const TERMINAL_AUTH: &str = "terminal-auth";

/// Serves the client until it disconnects. Then nothing that was started for it still runs.
pub(crate) async fn serve(context: Context, flags: Flags) -> Result<(), CliError> {
    let mut signals = Signals::new().map_err(CliError::Input)?;
    let (client, writing) = Client::new(tokio::io::stdout());
    let server = Arc::new(AcpServer { context, flags, client: client.clone(), open: Mutex::default() });
    let mut input = LineReader::new(tokio::io::stdin());
    let ended = loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                break Err(CliError::Signalled { signal, what: words::ENDED_BY_SIGNAL.to_owned() });
            }
            () = client.disconnected() => break Ok(()),
            read = input.next() => match read {
                Ok(Some(InputLine::Whole(line))) => server.on_line(&line).await,
                Ok(Some(InputLine::TooLong { id })) => {
                    client.refuse(&rpc::read_id(&id), Error::new(PARSE_ERROR, lines::too_long())).await;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(CliError::Input(error)),
            },
        }
    };
    server.close().await;
    drop((server, client));
    // The last answers may not have been written yet.
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), writing).await;
    ended
}

/// The sessions of one client.
struct AcpServer {
    context: Context,
    flags: Flags,
    client: Client,
    open: Mutex<HashMap<String, OpenSession>>,
}

/// An open session.
struct OpenSession {
    handle: SessionHandle,
    workspace: PathBuf,
}

/// The parameters of `session/set_config_option`; the type of the value depends on the option.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOption {
    session_id: String,
    config_id: String,
    value: Value,
}

/// The parameters of `$/cancel_request`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelRequest {
    request_id: RequestId,
}

/// How a request opens a session.
enum SessionOrigin {
    New,
    Fork,
    /// The session is continued, and the client is told its history.
    Load,
    Resume,
}

impl AcpServer {
    async fn on_line(self: &Arc<Self>, line: &[u8]) {
        match rpc::parse(line) {
            Err(RejectedLine { id, code, message }) => {
                self.client.refuse(&rpc::read_id(&id), Error::new(code, message)).await;
            }
            Ok(Message::Response { id, result }) => self.client.answered(&id, result),
            Ok(Message::Notification { method, params }) => self.on_notification(&method, params),
            Ok(Message::Request { id, method, params }) => {
                if let Err(error) = self.on_request(&id, &method, params).await {
                    self.client.refuse(&id, error).await;
                }
            }
        }
    }

    /// A notification that is unknown or cannot be read is ignored, because notifications have no answer.
    fn on_notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(cancel) = rpc::params::<CancelNotification>(params)
                    && let Ok(handle) = self.session(&cancel.session_id.0)
                {
                    handle.send(SessionRequest::Cancel { only: None });
                }
            }
            "$/cancel_request" => {
                if let Ok(cancel) = rpc::params::<CancelRequest>(params) {
                    for open in self.open().values() {
                        open.handle.send(SessionRequest::Cancel { only: Some(cancel.request_id.clone()) });
                    }
                }
            }
            _ => tracing::debug!(method, "a notification that is not known"),
        }
    }

    /// Answers a request, or starts a task that answers it.
    async fn on_request(self: &Arc<Self>, id: &RequestId, method: &str, params: Value) -> Result<(), Error> {
        if method != "initialize" && !self.client.is_known() {
            return Err(Error::new(-32600, format!("initialize comes before {method}")));
        }
        match method {
            "initialize" => {
                let answer = self.initialize(rpc::params(params)?)?;
                self.client.respond(id, Ok(answer)).await;
            }
            "authenticate" => {
                self.authenticate()?;
                self.client.respond(id, Ok(json!({}))).await;
            }
            "session/new" => {
                let request: NewSessionRequest = rpc::params(params)?;
                no_more_folders(&request.additional_directories)?;
                self.start(id, (SessionOrigin::New, SessionSelector::New), request.cwd, request.mcp_servers);
            }
            "session/load" => {
                let request: LoadSessionRequest = rpc::params(params)?;
                no_more_folders(&request.additional_directories)?;
                let which = (SessionOrigin::Load, SessionSelector::Named(request.session_id.to_string()));
                self.start(id, which, request.cwd, request.mcp_servers);
            }
            "session/resume" => {
                let request: ResumeSessionRequest = rpc::params(params)?;
                no_more_folders(&request.additional_directories)?;
                let which = (SessionOrigin::Resume, SessionSelector::Named(request.session_id.to_string()));
                self.start(id, which, request.cwd, request.mcp_servers);
            }
            "session/fork" => {
                let request: ForkSessionRequest = rpc::params(params)?;
                no_more_folders(&request.additional_directories)?;
                let fork = stored::fork(&opening::state(&self.context)?, &request.session_id.0)?;
                self.start(
                    id,
                    (SessionOrigin::Fork, SessionSelector::Named(fork)),
                    request.cwd,
                    request.mcp_servers,
                );
            }
            "session/list" => {
                let request: ListSessionsRequest = rpc::params(params)?;
                let listed = stored::list(&opening::state(&self.context)?, request.cwd.as_deref())?;
                self.client.respond(id, Ok(listed)).await;
            }
            "session/delete" => {
                let request: DeleteSessionRequest = rpc::params(params)?;
                let state = opening::state(&self.context)?;
                let session = request.session_id.to_string();
                self.after_close(id, session.clone(), move || stored::delete(&state, &session));
            }
            "session/close" => {
                let request: CloseSessionRequest = rpc::params(params)?;
                let session = request.session_id.to_string();
                self.session(&session)?;
                self.after_close(id, session, || Ok(()));
            }
            "session/prompt" => {
                let request: PromptRequest = rpc::params(params)?;
                let (handle, workspace) = self.session_in(&request.session_id.0)?;
                let text = prompt::text(&request.prompt, &workspace)?;
                if text.trim().is_empty() {
                    return Err(rpc::wrong("params.prompt", "there is no word in it"));
                }
                handle.send(SessionRequest::Prompt { id: id.clone(), text });
            }
            "session/set_mode" => {
                let request: SetSessionModeRequest = rpc::params(params)?;
                let handle = self.session(&request.session_id.0)?;
                handle.send(SessionRequest::SetMode { id: id.clone(), mode: request.mode_id.0.to_string() });
            }
            "session/set_config_option" => {
                let SetOption { session_id, config_id, value } = rpc::params(params)?;
                let handle = self.session(&session_id)?;
                handle.send(SessionRequest::SetOption { id: id.clone(), option: config_id, value });
            }
            _ => return Err(Error::new(-32601, format!("there is no method {method} here"))),
        }
        Ok(())
    }

    fn initialize(&self, request: InitializeRequest) -> Result<InitializeResponse, Error> {
        let has_terminal = has_terminal(&request.client_capabilities);
        if !self.client.set_capabilities(request.client_capabilities) {
            return Err(Error::new(-32600, "initialize has come already"));
        }
        let version = env!("CARGO_PKG_VERSION");
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .fork(SessionForkCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let can = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(cfg!(feature = "mcp")))
            .session_capabilities(sessions);
        let mut meta = serde_json::Map::new();
        meta.insert("headstart".to_owned(), json!({ "version": version }));
        let answer = InitializeResponse::new(ProtocolVersion::V1)
            .agent_info(Implementation::new("headstart", version).title("headstart".to_owned()))
            .agent_capabilities(can)
            .meta(meta);
        // Without a terminal the client could not use this way to log in.
        Ok(if has_terminal { answer.auth_methods(vec![setup()]) } else { answer })
    }

    /// There is no account to log in to. What a user needs is a model, and its key in the environment.
    fn authenticate(&self) -> Result<(), Error> {
        let here = headstart_machine::workspace::resolve(None).map_err(|error| opening::refused(&error))?;
        let config = self.context.config(&self.flags, Path::new(&here));
        let config = config.map_err(|error| opening::refused(&error))?;
        headstart_machine::models::Models::open(&config, &self.context.environment, None)
            .map(drop)
            .map_err(|error| opening::refused(&error))
    }

    /// Opens a session in a task of its own, because it reads files and may look at what this machine supports.
    fn start(
        self: &Arc<Self>,
        id: &RequestId,
        (how, which): (SessionOrigin, SessionSelector),
        cwd: PathBuf,
        servers: Vec<McpServer>,
    ) {
        let (server, id) = (Arc::clone(self), id.clone());
        tokio::spawn(async move {
            if let Err(error) = server.begin(&id, (how, which), &cwd, &servers).await {
                server.client.refuse(&id, error).await;
            }
        });
    }

    async fn begin(
        &self,
        id: &RequestId,
        (how, which): (SessionOrigin, SessionSelector),
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<(), Error> {
        let workspace = PathBuf::from(opening::folder(cwd)?);
        if let SessionSelector::Named(session) = &which {
            stored::check_workspace(&opening::state(&self.context)?, &workspace, session)?;
            // A client that loads an open session again wants to have it from its beginning.
            self.close_session(session).await;
        }
        let begun = opening::begin(&self.context, &self.flags, &self.client, cwd, which, servers).await?;
        let open = OpenSession { handle: begun.handle.clone(), workspace };
        self.open().insert(begun.id.clone(), open);
        tokio::spawn(begun.session.run());
        let (session, id) = (begun.id, id.clone());
        let is_new = matches!(how, SessionOrigin::New | SessionOrigin::Fork);
        let answer: OpeningAnswer = Box::new(move |settings, switches| {
            let mut answer =
                json!({ "modes": settings.modes(), "configOptions": settings.options(switches) });
            if is_new {
                answer["sessionId"] = session.into();
            }
            (id, answer)
        });
        begun.handle.send(SessionRequest::Begin { answer, replay: matches!(how, SessionOrigin::Load) });
        Ok(())
    }

    /// Ends a session, if it is open, and then runs what is to follow.
    fn after_close(
        self: &Arc<Self>,
        id: &RequestId,
        session: String,
        then: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) {
        let (server, id) = (Arc::clone(self), id.clone());
        tokio::spawn(async move {
            server.close_session(&session).await;
            server.client.respond(&id, then().map(|()| json!({}))).await;
        });
    }

    async fn close_session(&self, session: &str) {
        let open = self.open().remove(session);
        if let Some(open) = open {
            close(&open.handle).await;
        }
    }

    async fn close(&self) {
        let open: Vec<_> = self.open().drain().map(|(_, open)| open.handle).collect();
        join_all(open.iter().map(close)).await;
    }

    fn session(&self, id: &str) -> Result<SessionHandle, Error> {
        self.session_in(id).map(|(handle, _)| handle)
    }

    fn session_in(&self, id: &str) -> Result<(SessionHandle, PathBuf), Error> {
        let open = self.open();
        let open = open.get(id).map(|open| (open.handle.clone(), open.workspace.clone()));
        open.ok_or_else(|| rpc::wrong("params.sessionId", &format!("no session {id:?} is open")))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close(handle: &SessionHandle) {
    let (closed, is_closed) = oneshot::channel();
    if handle.send(SessionRequest::Close { closed }) {
        // Nothing is ever sent: the sender is dropped once the session has ended.
        let _ = is_closed.await;
    }
}

fn no_more_folders(folders: &[PathBuf]) -> Result<(), Error> {
    match folders {
        [] => Ok(()),
        _ => Err(rpc::wrong("params.additionalDirectories", "a session has one folder, that of cwd")),
    }
}

/// Whether the client can start this program in a terminal. Several clients, and the check of the protocol's registry,
/// say so under a name that is older than the protocol's own.
fn has_terminal(can: &ClientCapabilities) -> bool {
    let older = can.meta.as_ref().and_then(|meta| meta.get(TERMINAL_AUTH));
    can.auth.terminal || older == Some(&Value::Bool(true))
}

/// The way to log in that a client with a terminal offers a user who has no model yet. According to the protocol `args`
/// follow those of the configured command, according to the registry they replace them, and clients that know the older
/// name use that entry. All three start the same command.
fn setup() -> AuthMethod {
    let args = vec!["--setup".to_owned()];
    let mut meta = serde_json::Map::new();
    if let Ok(program) = std::env::current_exe() {
        let entry = json!({ "command": program, "args": args, "label": "headstart --setup" });
        meta.insert(TERMINAL_AUTH.to_owned(), entry);
    }
    let method = AuthMethodTerminal::new("headstart-setup", "Choose a model")
        .description("Says which models there are here, and how to choose one".to_owned())
        .args(args)
        .meta(meta);
    AuthMethod::Terminal(method)
}
