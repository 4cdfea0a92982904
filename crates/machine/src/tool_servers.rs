//! Tools of servers and addresses in a conversation: which servers run, what the gate is told about their tools, and
//! when they end.

mod approval;
mod environment;
mod project_code;
mod start;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use headstart_tool_gate::{Behaviour, Declaration, PolicyOrigin, ToolPolicies, ToolPolicy, ToolTable};
use headstart_tool_servers::{
    Connect, HttpTool, HttpToolConfig, Login, LoginClient, PendingLogin, ServerConfig, ServerName,
    ServerTool, StartReport, StoredLogin, ToolServers, Trust,
};
pub use headstart_tool_servers::{ListedPrompt, ListedResource};
use headstart_toolbox::{Tool, Toolbox};

pub use self::approval::{ApprovalQuestion, ApprovalState, ApprovalSubject, Approvals};
pub use self::start::begin;
use crate::config::{Config, HttpToolSetting, ServerSetting, Transport, TrustSetting};
use crate::environment::Environment;

/// The beginning of the name of every server's tools.
const PREFIX: &str = "mcp__";

/// The tools of servers and addresses in a conversation.
#[derive(Default)]
pub struct ServerTools {
    configs: Vec<ServerConfig>,
    running: Mutex<Arc<ToolServers>>,
    /// Whether the servers were started.
    started: AtomicBool,
    http: Vec<Arc<HttpTool>>,
    /// The entries of configuration files that are not available, and why.
    absent: Vec<(String, UnavailableReason)>,
    /// The names of servers' tools for which configuration files have a policy.
    with_policy: Vec<String>,
    project: OfProject,
}

/// The servers of a project. What they run may change between the user's yes and a start.
#[derive(Default)]
struct OfProject {
    settings: Vec<ServerSetting>,
    approvals: Option<Approvals>,
    /// Those that did not start for that reason, and the reason.
    held_back: Mutex<Vec<(String, String)>>,
}

impl OfProject {
    /// Those of these servers to which the user has agreed as they are now; the others are held back.
    fn still_agreed(&self, configs: &[ServerConfig]) -> Vec<ServerConfig> {
        let Some(approvals) = self.approvals.as_ref().map(Approvals::reread) else { return configs.to_vec() };
        let mut held_back = self.held_back.lock().unwrap_or_else(PoisonError::into_inner);
        held_back.clear();
        let mut agreed = configs.to_vec();
        for setting in &self.settings {
            let name = &setting.name;
            let why = match approvals.answer(&ApprovalSubject::Server(setting)) {
                ApprovalState::Yes => continue,
                ApprovalState::No => {
                    format!("you said no to it; `headstart tool-servers allow {name}` takes that back")
                }
                ApprovalState::NotAsked => format!(
                    "not started, for files of this project have changed since you agreed to it; \
                     `headstart tool-servers allow {name}` agrees to them as they are"
                ),
            };
            agreed.retain(|config| config.name.as_str() != name);
            held_back.push((name.clone(), why));
        }
        agreed
    }

    fn held_back(&self) -> Vec<(String, String)> {
        self.held_back.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why an entry of a configuration file is not available.
#[derive(Debug)]
enum UnavailableReason {
    /// The user decided so.
    Wanted(String),
    /// There is a problem, of which the user must be told.
    Trouble(String),
}

impl From<String> for UnavailableReason {
    fn from(why: String) -> Self {
        Self::Trouble(why)
    }
}

/// The names of servers' tools in the policies of all files, each once.
fn named_with_policy(config: &Config) -> Vec<String> {
    let tables = [PolicyOrigin::User, PolicyOrigin::Project].map(|origin| config.tool_policies.of(origin));
    let names = tables.iter().flat_map(|table| {
        let of_rules = table.rules.iter().map(|rule| &rule.tool);
        table.tools.iter().map(|(name, _)| name).chain(of_rules)
    });
    names.filter(|name| name.starts_with(PREFIX)).collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

impl UnavailableReason {
    fn why(&self) -> &str {
        match self {
            Self::Wanted(why) | Self::Trouble(why) => why,
        }
    }
}

/// A login that waits for the user.
pub struct LoginPrompt {
    name: String,
    pending: PendingLogin,
}

impl LoginPrompt {
    /// What the user must know before they log in.
    pub fn lines(&self) -> Vec<String> {
        let scopes = match self.pending.scopes() {
            [] => String::new(),
            scopes => format!(", which is to permit: {}", scopes.join(" ")),
        };
        vec![
            format!("Log in at {}{scopes}", self.pending.issuer()),
            format!(
                "What you permit there is permitted to {}, the tool server {}.",
                self.pending.server(),
                self.name
            ),
            "Open this address in a browser of this machine:".to_owned(),
            self.pending.address().to_owned(),
        ]
    }

    pub fn address(&self) -> &str {
        self.pending.address()
    }

    /// Waits until the user has logged in. Returns what to tell them.
    pub async fn finish(self) -> Result<String, String> {
        let (name, at) = (self.name, self.pending.issuer().to_owned());
        self.pending
            .finish()
            .await
            .map_err(|why| format!("tool server {name}: nobody is logged in: {why}"))?;
        Ok(format!("{name}: you are logged in at {at}"))
    }
}

impl ServerTools {
    /// The entries of the configuration files, without those of the project that the user has not agreed to. No server
    /// is started.
    pub fn named(config: &Config, workspace: &str, environment: &Environment, approvals: &Approvals) -> Self {
        let mut tools = Self { with_policy: named_with_policy(config), ..Self::default() };
        tools.project.approvals = Some(approvals.clone());
        for setting in &config.external_tools.servers {
            match server_config(setting, workspace, environment, approvals) {
                Ok(config) => {
                    tools.configs.push(config);
                    if setting.origin == PolicyOrigin::Project {
                        tools.project.settings.push(setting.clone());
                    }
                }
                Err(why) => tools.absent.push((setting.name.clone(), why)),
            }
        }
        for setting in &config.external_tools.http_tools {
            match http_tool(setting, approvals) {
                Ok(tool) => tools.http.push(Arc::new(tool)),
                Err(why) => tools.absent.push((setting.name.clone(), why)),
            }
        }
        tools
    }

    /// Starts the servers at the same time, and waits until each has started or its time is up.
    pub async fn start_all(&self) {
        self.started.store(true, Ordering::Release);
        if !self.configs.is_empty() {
            let started = ToolServers::start(self.project.still_agreed(&self.configs)).await;
            for server in started.start_reports() {
                let tools = server.tools.as_ref().ok();
                tracing::info!(server = server.name.as_str(), tools, "a tool server was started");
            }
            *self.lock() = Arc::new(started);
        }
    }

    /// Whether there are servers that have not been started.
    pub fn has_pending_start(&self) -> bool {
        !self.configs.is_empty() && !self.started.load(Ordering::Acquire)
    }

    /// The declarations of these tools for the gate. Whatever a tool says about itself, it is declared as one of a
    /// server.
    pub(crate) fn declarations(&self) -> Vec<Declaration> {
        let servers = self.running();
        let of_servers =
            servers.tools().iter().map(|tool| Declaration::of_server(tool.name(), tool.may_run_ahead()));
        let http = self.http.iter().map(|tool| Declaration::of_server(&tool.schema().name, false));
        of_servers.chain(http).collect()
    }

    /// The toolbox with these tools in place of the servers' tools that it had.
    pub(crate) fn join(&self, toolbox: Toolbox) -> Toolbox {
        let toolbox = toolbox.keeping(|name| !name.starts_with(PREFIX));
        let http = self.http.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>);
        let toolbox = http.fold(toolbox, Toolbox::with);
        self.running()
            .tools()
            .iter()
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
            .fold(toolbox, Toolbox::with)
    }

    /// The tools of the servers.
    pub fn tools(&self) -> Vec<Arc<ServerTool>> {
        self.running().tools().to_vec()
    }

    /// Whether a server with this name runs.
    pub(crate) fn is_running(&self, server: &str) -> bool {
        self.running().start_reports().iter().any(|started| started.name.as_str() == server)
    }

    /// The resources and prompts that servers offer.
    pub async fn offers(&self) -> (Vec<ListedResource>, Vec<ListedPrompt>) {
        let servers = self.running();
        let resources = servers.resources().await;
        (resources, servers.prompts().await)
    }

    /// The content of a resource; `None` if there is no such server.
    pub(crate) async fn read_resource(&self, server: &str, uri: &str) -> Option<Result<String, String>> {
        self.running().read_resource(server, uri).await
    }

    /// The text of a prompt with the arguments that are written behind it; `None` if there is no such server.
    pub async fn prompt(&self, server: &str, name: &str, written: &str) -> Option<Result<String, String>> {
        self.running().prompt(server, name, written).await
    }

    /// The result of the start of each server.
    pub fn started(&self) -> Vec<StartReport> {
        self.running().start_reports().to_vec()
    }

    /// The state of each server and tool, one line each.
    pub fn lines(&self) -> Vec<String> {
        let servers = self.running();
        let mut lines = Vec::new();
        for started in servers.start_reports() {
            let ahead = servers.tools().iter();
            let ahead =
                ahead.filter(|tool| tool.server() == started.name.as_str() && tool.may_run_ahead()).count();
            lines.push(match &started.tools {
                Ok(count) => {
                    format!("{:<12} {count} tools, {ahead} of which may run ahead of you", started.name)
                }
                Err(cause) => format!("{:<12} is not there: {cause}", started.name),
            });
            let left_out = started.omitted.iter();
            lines.extend(left_out.map(|left_out| format!("  left out: {}: {}", left_out.tool, left_out.why)));
        }
        lines.extend(
            self.http.iter().map(|tool| format!("{:<12} a tool behind an address", tool.schema().name)),
        );
        let held_back = self.project.held_back();
        lines.extend(held_back.iter().map(|(name, why)| format!("{name:<12} is not there: {why}")));
        lines.extend(
            self.absent.iter().map(|(name, absent)| format!("{name:<12} is not there: {}", absent.why())),
        );
        lines
    }

    /// What the user must be told when a conversation begins: which of their entries are not available.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let absent = self.absent.iter().filter_map(|(name, absent)| match absent {
            UnavailableReason::Wanted(_) => None,
            UnavailableReason::Trouble(why) => Some(format!("tool server {name}: {why}")),
        });
        absent.chain(self.start_troubles()).collect()
    }

    /// What the user must be told about the servers that were started.
    pub fn start_troubles(&self) -> Vec<String> {
        let servers = self.running();
        let started = servers.start_reports().iter().flat_map(|started| {
            let cause =
                started.tools.as_ref().err().map(|cause| format!("tool server {}: {cause}", started.name));
            let left_out = started.omitted.iter().map(|left_out| {
                format!("tool server {}: {} is left out: {}", started.name, left_out.tool, left_out.why)
            });
            cause.into_iter().chain(left_out).collect::<Vec<_>>()
        });
        let held_back = self.project.held_back().into_iter();
        let held_back = held_back.map(|(name, why)| format!("tool server {name}: {why}"));
        started.chain(held_back).chain(self.policies_of_nothing(&servers)).collect()
    }

    /// Policies for tools that no server has. If a server is not available, its tools are unknown, so nothing is
    /// reported.
    fn policies_of_nothing(&self, servers: &ToolServers) -> Vec<String> {
        let all_are_there = !self.has_pending_start()
            && self.absent.is_empty()
            && self.project.held_back().is_empty()
            && servers.start_reports().iter().all(|started| started.tools.is_ok());
        if !all_are_there {
            return Vec::new();
        }
        let has = |name: &&String| {
            let table =
                ToolTable { tools: vec![((*name).clone(), ToolPolicy::Exclude)], ..ToolTable::default() };
            ToolPolicies::new(table, ToolTable::default(), &[])
                .is_ok_and(|only| servers.tools().iter().any(|tool| only.excludes(tool.name())))
        };
        let of_nothing = self.with_policy.iter().filter(|name| !has(name));
        of_nothing
            .map(|name| format!("[tools] names {name}, and no tool server has a tool of this name"))
            .collect()
    }

    /// The configuration of a server for a login or logout. The error says why there can be none.
    fn of_login(&self, name: &str) -> Result<&ServerConfig, String> {
        if let Some(config) = self.configs.iter().find(|config| config.name.as_str() == name) {
            return match &config.connect {
                Connect::Http { bearer: None, login: Some(_), .. } => Ok(config),
                Connect::Http { bearer: None, .. } => {
                    Err(format!("{name}: there is no state folder to keep a login in"))
                }
                Connect::Http { .. } => {
                    Err(format!("{name}: `bearer` names its token, so nobody logs in to it"))
                }
                Connect::Command { .. } => Err(format!(
                    "{name}: it is a program of this machine, and only a server behind a url is logged in to"
                )),
            };
        }
        if let Some((_, absent)) = self.absent.iter().find(|(absent, _)| absent == name) {
            return Err(format!("{name}: {}", absent.why()));
        }
        let names: Vec<_> = self.configs.iter().map(|config| config.name.as_str()).collect();
        let there_are = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        Err(format!("there is no tool server {name:?}; {there_are}"))
    }

    /// Begins a login. The result says what to tell the user, and waits for the end.
    pub async fn log_in(&self, name: &str) -> Result<LoginPrompt, String> {
        let config = self.of_login(name)?;
        let pending =
            PendingLogin::begin(config).await.map_err(|why| format!("tool server {name}: {why}"))?;
        Ok(LoginPrompt { name: name.to_owned(), pending })
    }

    /// Ends a login. Returns what to tell the user.
    pub fn log_out(&self, name: &str) -> Result<String, String> {
        let was_there = StoredLogin::forget(self.of_login(name)?)?;
        Ok(if was_there {
            format!("{name}: you are logged out; what you permitted ends where you did so, or with its time")
        } else {
            format!("{name}: you were not logged in")
        })
    }

    /// The address at which the user is logged in to a server; `None` if they are not, or need not be.
    pub fn logged_in(&self, name: &str) -> Option<String> {
        let config = self.configs.iter().find(|config| config.name.as_str() == name)?;
        Some(StoredLogin::of(config).ok()??.issuer)
    }

    /// Waits until a server has something for `notices`.
    pub async fn changed(&self) {
        self.running().changed().await;
    }

    /// What has happened since the last call, each only once.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.running().notices()
    }

    /// Whether any server is configured.
    pub fn has_servers(&self) -> bool {
        !self.configs.is_empty()
    }

    /// Ends the servers, starts them again and asks for their tools again.
    pub async fn reload(&self) {
        let before = self.running();
        before.close().await;
        self.start_all().await;
    }

    /// Ends the servers. When this returns, none of their processes is left.
    pub async fn close(&self) {
        self.running().close().await;
    }

    fn running(&self) -> Arc<ToolServers> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<ToolServers>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What kind of server's tool this is; `None` if the gate does not know it as one.
pub(crate) fn what_it_is(declaration: Option<&Declaration>) -> Option<&'static str> {
    let declaration = declaration.filter(|declaration| declaration.sees_real_files())?;
    Some(match declaration.behaviour {
        Behaviour::ReadsRealFiles => "a server's tool, trusted to read only: runs, also ahead",
        _ => "a server's tool: asks, never ahead",
    })
}

/// How to reach a server, if it may be used. The error says why not, and what to do.
fn server_config(
    setting: &ServerSetting,
    workspace: &str,
    environment: &Environment,
    approvals: &Approvals,
) -> Result<ServerConfig, UnavailableReason> {
    let trust = match setting.trust {
        TrustSetting::Excluded => {
            return Err(UnavailableReason::Wanted("it is excluded by the configuration".to_owned()));
        }
        TrustSetting::Ask => Trust::Ask,
        TrustSetting::ReadOnlyHints => Trust::ReadOnlyHints,
    };
    check(approvals, &ApprovalSubject::Server(setting))?;
    let connect = match &setting.transport {
        Transport::Command(line) => Connect::Command {
            line: line.clone(),
            environment: environment::of_server(setting, workspace, environment)?,
            folder: workspace.into(),
        },
        Transport::Url(url) => Connect::Http {
            url: url.clone(),
            bearer: match &setting.bearer {
                Some(variable) => Some(environment::variable(variable, environment)?),
                None => None,
            },
            login: login(setting, environment, approvals)?,
            ahead: setting.trust_network,
        },
    };
    let name = ServerName::new(&setting.name).map_err(|error| error.to_string())?;
    Ok(ServerConfig { name, connect, trust, timeout: setting.timeout })
}

/// How the user logs in, if they have no token for the server.
fn login(
    setting: &ServerSetting,
    environment: &Environment,
    approvals: &Approvals,
) -> Result<Option<Login>, String> {
    let file = approvals.login_file(setting).map_err(|error| error.to_string())?;
    let (Some(file), None) = (file, &setting.bearer) else { return Ok(None) };
    let oauth = &setting.oauth;
    let secret = match &oauth.client_secret {
        Some(variable) => Some(environment::variable(variable, environment)?),
        None => None,
    };
    let client = oauth.client_id.clone().map(|id| LoginClient { id, secret });
    Ok(Some(Login { file, client, scopes: oauth.scopes.clone() }))
}

fn http_tool(setting: &HttpToolSetting, approvals: &Approvals) -> Result<HttpTool, UnavailableReason> {
    check(approvals, &ApprovalSubject::Http(setting))?;
    HttpTool::new(&HttpToolConfig {
        name: setting.name.clone(),
        url: setting.url.clone(),
        description: setting.description.clone(),
        parameters: setting.parameters.clone(),
        timeout: setting.timeout,
    })
    .map_err(UnavailableReason::Trouble)
}

/// Checks that the user agreed to the entry.
fn check(approvals: &Approvals, subject: &ApprovalSubject<'_>) -> Result<(), UnavailableReason> {
    let name = subject.name();
    if subject.is_too_long_to_show() {
        return Err(UnavailableReason::Trouble(
            "the project's entry is longer than a question can show; name the server in your own file"
                .to_owned(),
        ));
    }
    match approvals.answer(subject) {
        ApprovalState::Yes => Ok(()),
        ApprovalState::No => {
            let why = format!("you said no to it; `headstart tool-servers allow {name}` takes that back");
            Err(UnavailableReason::Wanted(why))
        }
        ApprovalState::NotAsked => {
            let target = subject.target();
            Err(UnavailableReason::Trouble(format!(
                "the project names it ({target}), and you were not asked; `headstart tool-servers allow {name}` has it start"
            )))
        }
    }
}
