//! The messages between the editor and the agent, what is learned from them, and what is done ahead because of that.
//! Nothing here does IO: lines come in, and the actions to take come out as [`Effect`]s.

mod accept;
mod commands;
mod second_agent;
mod settings;
mod shutdown;
mod suggestion;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use headstart_budget::{Metering, PendingWrites};
use headstart_overlay_fs::{ChangeSet, Process};
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};

use self::accept::QueuedRequest;
pub(super) use self::second_agent::FrozenView;
use self::second_agent::{WorkAhead, usage};
use self::settings::{SessionSettings, is_setting};
use self::suggestion::{FilteredMessage, strip_additions, without_capability};
use super::message::{self, MessageKind, SessionNames};
use super::permission::PermissionRules;
use super::profiles::AgentProfile;
use super::state::{ProxyState, StateChange};

/// The beginning of this program's own request ids, which no editor and no agent uses.
const OURS: &str = "headstart:";

/// An action that the proxy decided on.
#[derive(Debug)]
pub(super) enum Effect {
    ToEditor(Vec<u8>),
    ToAgent(Vec<u8>),
    ToSecond(Vec<u8>),
    /// Answers a command of the second agent, by the name under which the command waits.
    Answer {
        name: String,
        may_run: bool,
    },
    /// Starts a second agent in a new view of this folder.
    Start {
        number: u64,
        folder: String,
    },
    /// The work is done: ends the process, and reads the changes from its view.
    Freeze {
        number: u64,
    },
    /// Lets a second agent answer what it was asked, beside the next one, until `End` comes.
    Leave {
        number: u64,
    },
    /// Ends a second agent and discards what it did.
    End {
        number: u64,
    },
    Commit {
        number: u64,
        folder: String,
        changes: ChangeSet,
        /// Written to the stored data before the commit begins.
        note: StateChange,
    },
    /// Prepares the commit of these changes to this folder, which may follow soon.
    Prepare {
        number: u64,
        folder: String,
        changes: ChangeSet,
    },
    Keep(StateChange),
    Write(String, PendingWrites),
    /// A remark for standard error.
    Say(String),
}

/// Who asks for suggestions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Suggestions {
    /// A fork of the conversation is asked with headstart's own question
    #[default]
    Own,
    /// The agent, where it suggests by itself
    Agent,
    /// Nobody: messages are passed on, and nothing else
    Off,
}

/// The parts of the machine that the proxy depends on.
pub(super) trait Host: Send {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> u64;
    /// A folder in which a session works; `None` if nothing is done ahead there.
    fn project(&mut self, folder: &str) -> Option<Project>;
    /// The beginning of an id that no other suggestion has.
    fn id(&mut self) -> String;
    /// This process.
    fn process(&self) -> Process;
}

/// The settings and rules of one folder.
pub(super) struct Project {
    pub(super) metering: Metering,
    pub(super) rules: PermissionRules,
    pub(super) mode: ApprovalMode,
    pub(super) speculation: bool,
    /// How long work ahead may take, in milliseconds.
    pub(super) most_ms: u64,
}

/// A request from the editor that the agent has not answered yet.
pub(super) struct PendingRequest {
    pub(super) id: Value,
    pub(super) method: String,
    /// The request itself, if the reaction to its answer depends on it.
    pub(super) request: Option<Value>,
}

/// A request from this program that the agent has not answered yet.
pub(super) enum OwnRequest {
    Adopt {
        number: u64,
    },
    /// Gives the fork a setting of its session.
    Settle {
        number: u64,
    },
    Delete {
        fork: String,
    },
    Other,
}

/// The methods for sessions that the agent supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a method of the protocol")]
pub(super) struct AgentCapabilities {
    pub(super) fork: bool,
    pub(super) resume: bool,
    pub(super) close: bool,
    pub(super) delete: bool,
}

/// A session, under the editor's id.
pub(super) struct ProxySession {
    pub(super) folder: String,
    pub(super) servers: Value,
    pub(super) project: Option<Project>,
    settings: SessionSettings,
    /// The agent's own commands, as it last listed them.
    pub(super) commands: Option<Value>,
    /// The number of the model's answers.
    pub(super) entries: usize,
    pub(super) offer: Option<OfferedSuggestion>,
    /// The codes of the reasons for no suggestion that the user was told.
    reasons_told: BTreeSet<String>,
    /// Whether the user switched work ahead off.
    pub(super) is_off: bool,
}

/// The suggestion of a session.
pub(super) struct OfferedSuggestion {
    pub(super) id: String,
    pub(super) text: String,
}

/// The proxy between one editor and one agent.
pub(super) struct Proxy {
    pub(super) effects: Vec<Effect>,
    pub(super) host: Box<dyn Host>,
    pub(super) profile: Option<&'static AgentProfile>,
    pub(super) suggestions: Suggestions,
    /// Why nothing runs ahead any more; `None` as long as it can.
    pub(super) unfit: Option<String>,
    /// The parameters of the editor's `initialize`.
    pub(super) introduction: Value,
    /// Whether the editor itself shows suggestions of agents, so that the agent may send them.
    pub(super) shows_suggestions: bool,
    pub(super) capabilities: AgentCapabilities,
    pub(super) pending: HashMap<String, PendingRequest>,
    own_requests: HashMap<String, OwnRequest>,
    next: u64,
    pub(super) sessions: BTreeMap<String, ProxySession>,
    pub(super) state: ProxyState,
    editors_names: SessionNames,
    /// Forks that the agent deleted. Late messages about them are dropped.
    deleted_forks: BTreeSet<String>,
    ahead: Option<WorkAhead>,
    /// Second agents whose work was given up before they said the name of their fork, with the ids of the requests for it.
    leaving: BTreeMap<u64, u64>,
    pub(super) number: u64,
    queued_requests: VecDeque<QueuedRequest>,
}

impl Proxy {
    pub(super) fn new(
        host: Box<dyn Host>,
        profile: Option<&'static AgentProfile>,
        suggestions: Suggestions,
        state: ProxyState,
    ) -> Self {
        let editors_names = state.editors_names();
        Self {
            effects: Vec::new(),
            host,
            profile,
            suggestions,
            unfit: None,
            introduction: Value::Null,
            shows_suggestions: false,
            capabilities: AgentCapabilities::default(),
            pending: HashMap::new(),
            own_requests: HashMap::new(),
            next: 0,
            sessions: BTreeMap::new(),
            state,
            editors_names,
            deleted_forks: BTreeSet::new(),
            ahead: None,
            leaving: BTreeMap::new(),
            number: 0,
            queued_requests: VecDeque::new(),
        }
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        self.handle_queued_requests();
        std::mem::take(&mut self.effects)
    }

    /// Handles a line from the editor.
    pub(super) fn editor(&mut self, line: &[u8]) {
        if let Ok(message) = serde_json::from_slice::<Value>(line) {
            let is_done = match message::kind(&message) {
                MessageKind::Request if self.queue_if_accepting(&message, line) => true,
                MessageKind::Request => self.request_of_editor(&message),
                MessageKind::Notification => self.notification_of_editor(&message),
                MessageKind::Response => self.answer_of_editor(&message),
                MessageKind::Other => false,
            };
            if is_done {
                return;
            }
        }
        self.pass_to_agent(line);
    }

    /// Handles a line from the agent.
    pub(super) fn agent(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return self.pass_to_editor(line) };
        match message::kind(&message) {
            MessageKind::Response => self.answer_of_agent(&message, line),
            MessageKind::Notification => self.notification_of_agent(&message, line),
            MessageKind::Request if self.is_hidden(&message) => {
                let refusal = message::error(&message["id"], -32601, "nobody sees this session");
                self.effects.push(Effect::ToAgent(message::line(&refusal)));
            }
            MessageKind::Request | MessageKind::Other => self.pass_to_editor(line),
        }
    }

    fn request_of_editor(&mut self, message: &Value) -> bool {
        let method = message::method(message);
        let session = message::session(message).unwrap_or_default().to_owned();
        match method {
            "initialize" => return self.initialize(message),
            "session/prompt" if self.prompt(&session, message) => return true,
            "session/close" | "session/delete" => {
                self.end_work_of(&session);
                self.sessions.remove(&session);
            }
            // The session begins anew, with settings of its own.
            "session/load" | "session/resume" => self.end_work_of(&session),
            _ => {}
        }
        let is_small = matches!(
            method,
            "session/new" | "session/load" | "session/resume" | "session/fork" | "session/delete"
        ) || is_setting(method);
        let request = (is_small || method == "session/prompt").then(|| message.clone());
        self.expect_answer(message, request);
        false
    }

    pub(super) fn expect_answer(&mut self, message: &Value, request: Option<Value>) {
        let method = message::method(message).to_owned();
        let pending = PendingRequest { id: message["id"].clone(), method, request };
        self.pending.insert(message::key(message), pending);
    }

    fn notification_of_editor(&mut self, message: &Value) -> bool {
        match message::method(message) {
            "session/cancel" => message::session(message).is_some_and(|session| self.cancel(session, None)),
            "$/cancel_request" => {
                let id = message["params"]["requestId"].clone();
                let session = self.ahead.as_ref().map(|ahead| ahead.session.clone());
                session.is_some_and(|session| self.cancel(&session, Some(&id)))
            }
            _ => false,
        }
    }

    fn answer_of_editor(&mut self, message: &Value) -> bool {
        let Some(id) = message["id"].as_str().filter(|id| id.starts_with(OURS)) else { return false };
        self.answered_by_editor(id, message);
        true
    }

    fn answer_of_agent(&mut self, message: &Value, line: &[u8]) {
        if let Some(own) = message["id"].as_str().and_then(|id| self.own_requests.remove(id)) {
            return self.handle_own_answer(own, message);
        }
        let Some(pending) = self.pending.remove(&message::key(message)) else {
            return self.pass_to_editor(line);
        };
        if message.get("error").is_some() && self.retry_as_itself(&pending) {
            return;
        }
        match pending.method.as_str() {
            "session/list" if self.translate_list(message) => return,
            _ => match self.declares().then(|| without_capability(message)).flatten() {
                Some(rest) => self.pass_to_editor(&message::line(&rest)),
                None => self.pass_to_editor(line),
            },
        }
        match message.get("error") {
            None => self.apply_answer(&pending, &message["result"]),
            Some(error) if pending.method == "session/prompt" => {
                self.agent_failed(&message::error_text(error));
            }
            Some(_) if is_setting(&pending.method) => self.setting_answered(&pending, None),
            Some(_) => {}
        }
    }

    /// Repeats a request with the session's own id if its fork is gone. Returns whether it did.
    fn retry_as_itself(&mut self, pending: &PendingRequest) -> bool {
        let Some(request) = pending
            .request
            .as_ref()
            .filter(|_| matches!(pending.method.as_str(), "session/load" | "session/resume"))
        else {
            return false;
        };
        let session = message::session(request).unwrap_or_default();
        if !self.state.names.contains_key(session) {
            return false;
        }
        self.keep(StateChange::SessionFreed(session.to_owned()));
        self.expect_answer(request, Some(request.clone()));
        self.effects.push(Effect::ToAgent(message::line(request)));
        true
    }

    fn handle_own_answer(&mut self, own: OwnRequest, message: &Value) {
        let result = message.get("error").map_or(Ok(&message["result"]), Err);
        match own {
            OwnRequest::Adopt { number } => self.adopted(number, result),
            OwnRequest::Settle { number } => self.fork_setting_answered(number, result),
            OwnRequest::Delete { fork } if result.is_ok() => {
                self.deleted_forks.insert(fork.clone());
                self.keep(StateChange::ForkDeleted(fork));
            }
            OwnRequest::Delete { .. } | OwnRequest::Other => {}
        }
    }

    /// Learns from an answer of the agent about it and its sessions.
    fn apply_answer(&mut self, pending: &PendingRequest, result: &Value) {
        let params = pending.request.as_ref().map_or(&Value::Null, |request| &request["params"]);
        let session = params["sessionId"].as_str().unwrap_or_default();
        match pending.method.as_str() {
            "initialize" => self.read_capabilities(&result["agentCapabilities"]),
            "session/new" | "session/fork" => {
                let new = result["sessionId"].as_str().unwrap_or_default().to_owned();
                let entries = if pending.method == "session/new" { 0 } else { 2 };
                self.open(new, params, result, entries);
            }
            "session/load" | "session/resume" => self.open(session.to_owned(), params, result, 2),
            // The session that its fork stands for is deleted too.
            "session/delete" if self.state.names.contains_key(session) => {
                self.keep(StateChange::SessionFreed(session.to_owned()));
                self.ask_agent("session/delete", &json!({ "sessionId": session }), OwnRequest::Other);
            }
            method if is_setting(method) => self.setting_answered(pending, Some(result)),
            "session/prompt" => {
                let session = session.to_owned();
                if let Some(known) = self.sessions.get_mut(&session) {
                    known.entries += 1;
                    let (tokens, now) = (usage(&result["usage"]), self.host.now());
                    let cost = headstart_speculation::Cost { tokens, ..<_>::default() };
                    if let Some(project) = &mut known.project {
                        project.metering.record_turn(now, &cost, result["stopReason"] == "cancelled");
                    }
                }
                if result["stopReason"] == "end_turn" {
                    self.turn_ended(&session);
                }
                self.write_ledger(&session);
            }
            _ => {}
        }
    }

    fn read_capabilities(&mut self, capabilities: &Value) {
        let has =
            |name: &str| capabilities["sessionCapabilities"].get(name).is_some_and(|value| !value.is_null());
        self.capabilities = AgentCapabilities {
            fork: has("fork"),
            resume: has("resume"),
            close: has("close"),
            delete: has("delete"),
        };
        // Deletes forks that an earlier process left.
        for fork in self.state.orphaned_forks() {
            self.delete(fork);
        }
    }

    fn open(&mut self, id: String, params: &Value, result: &Value, entries: usize) {
        let folder = params["cwd"].as_str().unwrap_or_default().to_owned();
        let project = if self.suggestions == Suggestions::Off { None } else { self.host.project(&folder) };
        let servers = params.get("mcpServers").cloned().unwrap_or_else(|| json!([]));
        let session = ProxySession {
            folder,
            servers,
            project,
            settings: SessionSettings::opened(result),
            commands: None,
            entries,
            offer: None,
            reasons_told: BTreeSet::new(),
            is_off: false,
        };
        self.sessions.insert(id, session);
    }

    fn notification_of_agent(&mut self, message: &Value, line: &[u8]) {
        if self.is_hidden(message) {
            return self.note_fork_update(message);
        }
        // The user must not see the title of a fork.
        let stands = message::session(message).is_some_and(|id| self.editors_names.contains_key(id));
        let title = &message["params"]["update"]["title"];
        let own = message::without_fork(title);
        if stands && own != *title {
            let mut message = message.clone();
            message["params"]["update"]["title"] = own;
            return self.pass_to_editor(&message::line(&message));
        }
        let name = message::session(message).map(|id| self.editors_name(id));
        let update = &message["params"]["update"];
        match (message::method(message), name) {
            ("session/update", Some(session)) if self.update_of_agent(&session, update) => return,
            ("qwen/notify/session/prompt-suggestion", Some(session)) => {
                self.pass_to_editor(line);
                let text = message["params"]["suggestion"].as_str().unwrap_or_default();
                return self.offer_suggestion(&session, text, <_>::default());
            }
            _ => {}
        }
        match self.declares().then(|| strip_additions(message)) {
            None | Some(FilteredMessage::Whole) => self.pass_to_editor(line),
            Some(FilteredMessage::Part(rest)) => self.pass_to_editor(&message::line(&rest)),
            Some(FilteredMessage::Nothing) => {}
        }
        let suggestions = &update["_meta"]["promptSuggestions"]["suggestions"];
        if let (Some(suggestions), Some(session)) = (suggestions.as_array(), message::session(message)) {
            let session = self.editors_name(session);
            let text =
                suggestions.first().and_then(|first| first["text"].as_str()).unwrap_or_default().to_owned();
            self.offer_suggestion(&session, &text, <_>::default());
        }
    }

    /// Learns from an update. Returns whether the editor was told already.
    fn update_of_agent(&mut self, id: &str, update: &Value) -> bool {
        let Some(session) = self.sessions.get_mut(id) else { return false };
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "tool_call" => session.entries += 1,
            "current_mode_update" => {
                session.settings.note_mode(update["currentModeId"].as_str());
                self.settings_changed(id);
            }
            "usage_update" if update["_meta"]["_claude/rateLimit"]["status"] == "rejected" => {
                self.agent_failed("its rate limit is reached");
            }
            "config_option_update" => {
                session.settings.note_options(&update["configOptions"]);
                self.settings_changed(id);
            }
            "available_commands_update" => {
                session.commands = Some(update["availableCommands"].clone());
                if session.offer.is_some() {
                    self.tell_commands(id);
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// Tells the editor the sessions as the user knows them. Returns `false` if the agent's list is the same.
    fn translate_list(&mut self, message: &Value) -> bool {
        if self.state == ProxyState::default() {
            return false;
        }
        let mut message = message.clone();
        let Some(sessions) = message.pointer_mut("/result/sessions").and_then(Value::as_array_mut) else {
            return false;
        };
        sessions.retain(|session| !session["sessionId"].as_str().is_some_and(|id| self.state.hides(id)));
        for session in sessions.iter_mut().filter(|session| session.get("title").is_some()) {
            if session["sessionId"].as_str().is_some_and(|id| self.editors_names.contains_key(id)) {
                session["title"] = message::without_fork(&session["title"]);
            }
        }
        self.pass_to_editor(&message::line(&message));
        true
    }

    pub(super) fn keep(&mut self, change: StateChange) {
        self.state.apply(&change);
        self.editors_names = self.state.editors_names();
        self.effects.push(Effect::Keep(change));
    }

    /// Has the agent delete a fork. If it cannot, the fork is only hidden.
    pub(super) fn delete(&mut self, fork: String) {
        if self.capabilities.delete {
            self.ask_agent("session/delete", &json!({ "sessionId": fork }), OwnRequest::Delete { fork });
        }
    }

    pub(super) fn ask_agent(&mut self, method: &str, params: &Value, own: OwnRequest) {
        let id = self.own_id();
        self.effects.push(Effect::ToAgent(message::line(&message::request(&id, method, params))));
        self.own_requests.insert(id, own);
    }

    pub(super) fn own_id(&mut self) -> String {
        self.next += 1;
        format!("{OURS}{}", self.next)
    }

    /// Adds new entries to the ledger of the session's project.
    pub(super) fn write_ledger(&mut self, id: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(project) = &mut session.project else { return };
        let pending_writes = project.metering.take_pending_writes();
        if pending_writes != PendingWrites::default() {
            self.effects.push(Effect::Write(session.folder.clone(), pending_writes));
        }
    }

    /// The agent's id of a session.
    pub(super) fn agents_name(&self, session: &str) -> String {
        self.state.names.get(session).cloned().unwrap_or_else(|| session.to_owned())
    }

    fn editors_name(&self, session: &str) -> String {
        self.editors_names.get(session).cloned().unwrap_or_else(|| session.to_owned())
    }

    /// Whether a message from the agent is about a session that the user must not see.
    fn is_hidden(&self, message: &Value) -> bool {
        message::session(message)
            .is_some_and(|session| self.state.forks.contains(session) || self.deleted_forks.contains(session))
    }

    pub(super) fn send_to_editor(&mut self, message: &Value) {
        self.effects.push(Effect::ToEditor(message::line(message)));
    }

    pub(super) fn pass_to_agent(&mut self, line: &[u8]) {
        let line = message::renamed(line, &self.state.names).into_owned();
        self.effects.push(Effect::ToAgent(line));
    }

    pub(super) fn pass_to_editor(&mut self, line: &[u8]) {
        let line = message::renamed(line, &self.editors_names).into_owned();
        self.effects.push(Effect::ToEditor(line));
    }
}
