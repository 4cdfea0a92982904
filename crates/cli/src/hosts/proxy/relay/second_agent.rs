//! The second agent: the requests to it, its questions, and the state of its work. Nothing here does IO.

use std::collections::{BTreeMap, VecDeque};

use headstart_budget::QueryCost;
use headstart_forked_query::{SuppressionReason, Usage, question, suggestion_in};
use headstart_overlay_fs::{ChangeKind, ChangeSet};
use headstart_speculation::{Cost, Status};
use headstart_tool_gate::{Access, Decision, Gate};
use serde_json::{Value, json};

use super::accept::AcceptingPrompt;
use super::settings::{ForkSettings, SettingRequest};
use super::{Effect, OwnRequest, Proxy};
use crate::hosts::proxy::message::{self, MessageKind};
use crate::hosts::proxy::permission::{Boundary, PermissionVerdict, allows_once};
use crate::hosts::proxy::profiles::AskMethod;
use crate::hosts::proxy::state::StateChange;

/// How long a question waits for the user, in milliseconds.
const QUESTION_WAITS: u64 = 15 * 60 * 1000;

/// The purpose of a second agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// To find out what the user asks next.
    Suggest,
    /// To do what the user asks next.
    Run,
}

/// The next request to the second agent.
#[derive(Debug, Clone, PartialEq)]
enum SetupStep {
    Initialize,
    Fork,
    Setting(SettingRequest),
    Mode(String),
    Prompt,
    Close,
}

/// The state of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkPhase {
    /// It works, or waits for the answer to a question.
    Working,
    /// Its turn ended well, and its view is being read.
    Freezing,
    /// The first agent is loading its fork.
    Adopting,
    /// The first agent gives the fork the settings of the session.
    Settling,
    /// Its changes are staged, so that the commit needs only renames.
    Preparing,
    Ready,
}

/// A second agent and its work.
pub(super) struct WorkAhead {
    pub(super) number: u64,
    /// The editor's id of the session.
    pub(super) session: String,
    pub(super) goal: Goal,
    pub(super) phase: WorkPhase,
    steps: VecDeque<SetupStep>,
    /// The request that it has not answered yet.
    pending_step: Option<(u64, SetupStep)>,
    next: u64,
    pub(super) fork: Option<String>,
    pub(super) fork_settings: ForkSettings,
    /// The text of its answer, if it was asked for a suggestion.
    answer_text: String,
    /// The updates about its work.
    pub(super) updates: Vec<Value>,
    calls: BTreeMap<String, Value>,
    /// The calls that it asked about.
    asked_calls: Vec<String>,
    /// The questions that wait, each with the gate's reason.
    pub(super) questions: VecDeque<(Value, Boundary)>,
    /// The answer to its prompt.
    pub(super) result: Value,
    pub(super) changes: ChangeSet,
    pub(super) accepting: Option<AcceptingPrompt>,
    pub(super) began: u64,
    pub(super) worked_ms: u64,
    /// When the work is given up, in milliseconds since the Unix epoch.
    pub(super) deadline: u64,
    /// Whether the cost of the work is in the ledger.
    is_written: bool,
}

impl WorkAhead {
    fn new(number: u64, session: &str, goal: Goal, now: u64, most_ms: u64) -> Self {
        Self {
            number,
            session: session.to_owned(),
            goal,
            phase: WorkPhase::Working,
            steps: VecDeque::new(),
            pending_step: None,
            next: 0,
            fork: None,
            fork_settings: ForkSettings::default(),
            answer_text: String::new(),
            updates: Vec::new(),
            calls: BTreeMap::new(),
            asked_calls: Vec::new(),
            questions: VecDeque::new(),
            result: Value::Null,
            changes: ChangeSet::default(),
            accepting: None,
            began: now,
            worked_ms: 0,
            deadline: now.saturating_add(most_ms),
            is_written: false,
        }
    }

    /// The state of its work in words for the user, and how many files it changed.
    pub(crate) fn status_words(&self) -> Option<(&'static str, usize)> {
        let state = match self.phase {
            _ if self.goal == Goal::Suggest => return None,
            WorkPhase::Ready => "ready",
            _ if !self.questions.is_empty() => "boundary",
            _ => "running",
        };
        Some((state, self.changes.changes.len()))
    }

    /// Whether the first agent has loaded its fork.
    pub(super) fn is_adopted(&self) -> bool {
        matches!(self.phase, WorkPhase::Settling | WorkPhase::Preparing | WorkPhase::Ready)
    }

    fn is_prompting(&self) -> bool {
        matches!(self.pending_step, Some((_, SetupStep::Prompt)))
    }
}

/// The changes in the view of a second agent that has ended.
pub(crate) struct FrozenView {
    pub(crate) changes: ChangeSet,
    /// Why the changes cannot be taken; `None` if they can.
    pub(crate) refusal: Option<String>,
}

impl Proxy {
    pub(super) fn start(&mut self, id: &str, goal: Goal, most_ms: u64) {
        let Some(session) = self.sessions.get(id) else { return };
        self.number += 1;
        let mut ahead = WorkAhead::new(self.number, id, goal, self.host.now(), most_ms);
        ahead.steps.push_back(SetupStep::Initialize);
        self.effects.push(Effect::Start { number: self.number, folder: session.folder.clone() });
        self.ahead = Some(ahead);
        self.plan_fork();
    }

    /// Plans to fork the conversation, in the mode that asks; in the session's mode if the agent asks in every mode.
    pub(super) fn plan_fork(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(session) = self.sessions.get(&ahead.session) else { return };
        ahead.steps.push_back(SetupStep::Fork);
        ahead.steps.extend(session.settings.changes().iter().cloned().map(SetupStep::Setting));
        let mode = self.profile.and_then(|profile| match &profile.ask_method {
            AskMethod::InMode(mode) => Some((*mode).to_owned()),
            AskMethod::BySettings(_) => session.settings.mode.clone(),
        });
        ahead.steps.extend(mode.map(SetupStep::Mode));
        ahead.steps.push_back(SetupStep::Prompt);
    }

    /// The second agent has started.
    pub(crate) fn second_started(&mut self, number: u64) {
        if self.is_current(number) {
            self.next_step();
        }
    }

    /// The second agent could not be started, or ended by itself.
    pub(crate) fn second_ended(&mut self, number: u64, why: &str, is_for_good: bool) {
        if self.leaving.remove(&number).is_some() {
            return self.effects.push(Effect::End { number });
        }
        // After its work its end is expected.
        if self.ahead.as_ref().is_none_or(|ahead| ahead.number != number || ahead.phase != WorkPhase::Working)
        {
            return;
        }
        if is_for_good {
            self.is_unfit(why);
        }
        self.drop_work(why);
    }

    /// Whether the second agent has not answered yet which session the fork is.
    pub(crate) fn is_forking(&self) -> bool {
        let pending = self.ahead.as_ref().and_then(|ahead| ahead.pending_step.as_ref());
        matches!(pending, Some((_, SetupStep::Fork))) || !self.leaving.is_empty()
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.number == number)
    }

    /// Sends the next request to the second agent.
    pub(super) fn next_step(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(step) = ahead.steps.pop_front() else { return };
        let Some(session) = self.sessions.get(&ahead.session) else { return };
        let fork = ahead.fork.clone().unwrap_or_default();
        let (method, params) = match &step {
            SetupStep::Initialize => ("initialize", self.introduction.clone()),
            SetupStep::Fork => {
                let name = self.state.names.get(&ahead.session).unwrap_or(&ahead.session);
                (
                    "session/fork",
                    json!({ "sessionId": name, "cwd": session.folder, "mcpServers": session.servers }),
                )
            }
            SetupStep::Setting(SettingRequest { method, params }) => {
                let mut params = params.clone();
                params["sessionId"] = fork.into();
                (method.as_str(), params)
            }
            SetupStep::Mode(mode) => ("session/set_mode", json!({ "sessionId": fork, "modeId": mode })),
            SetupStep::Prompt => {
                let text = match ahead.goal {
                    Goal::Suggest => question(),
                    Goal::Run => session.offer.as_ref().map_or("", |offered| &offered.text),
                };
                ("session/prompt", json!({ "sessionId": fork, "prompt": [{ "type": "text", "text": text }] }))
            }
            SetupStep::Close => ("session/close", json!({ "sessionId": fork })),
        };
        ahead.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": ahead.next, "method": method, "params": params });
        ahead.pending_step = Some((ahead.next, step));
        self.effects.push(Effect::ToSecond(message::line(&request)));
    }

    /// Handles a line from the second agent.
    pub(crate) fn second(&mut self, number: u64, line: &[u8]) {
        if let Some(request) = self.leaving.get(&number) {
            let answer = serde_json::from_slice::<Value>(line).unwrap_or_default();
            if answer["id"] == *request {
                self.left(number, &answer["result"]["sessionId"]);
            }
            return;
        }
        if !self.is_current(number) || line.is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.drop_work("the second agent says what is no message");
        };
        match message::kind(&message) {
            MessageKind::Response => self.second_answered(&message),
            MessageKind::Notification if message::method(&message) == "session/update" => {
                self.second_updated(message);
            }
            MessageKind::Request if message::method(&message) == "session/request_permission" => {
                self.second_asked(message);
            }
            MessageKind::Request => {
                let refusal = message::error(&message["id"], -32601, "there is no editor here");
                self.effects.push(Effect::ToSecond(message::line(&refusal)));
            }
            MessageKind::Notification => {}
            MessageKind::Other => self.drop_work("the second agent says what is no message"),
        }
    }

    fn second_answered(&mut self, message: &Value) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some((_, step)) = ahead.pending_step.take_if(|(id, _)| message["id"] == *id) else { return };
        if let Some(error) = message.get("error") {
            let text = &message::error_text(error);
            return match step {
                // The session could not be closed, which does no harm, because the agent is about to end.
                SetupStep::Close => self.freeze(),
                SetupStep::Mode(mode) => {
                    self.is_unfit(&format!(
                        "the second agent does not know the mode {mode:?}, in which it would ask before it acts: {text}"
                    ));
                    self.drop_work(text);
                }
                _ => self.drop_work(text),
            };
        }
        match step {
            SetupStep::Fork => {
                let Some(fork) = message["result"]["sessionId"].as_str().map(str::to_owned) else {
                    return self.drop_work("the fork has no name");
                };
                ahead.fork = Some(fork.clone());
                let by = self.host.process();
                self.keep(StateChange::ForkMade(fork, by));
            }
            SetupStep::Prompt => return self.second_turn_ended(&message["result"]),
            SetupStep::Close => return self.freeze(),
            SetupStep::Initialize | SetupStep::Setting(_) | SetupStep::Mode(_) => {}
        }
        self.next_step();
    }

    fn second_updated(&mut self, message: Value) {
        let Some(ahead) = &mut self.ahead else { return };
        if !ahead.is_prompting() || message::session(&message) != ahead.fork.as_deref() {
            return;
        }
        let update = &message["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "agent_message_chunk" if ahead.goal == Goal::Suggest => {
                ahead.answer_text.push_str(update["content"]["text"].as_str().unwrap_or_default());
                return;
            }
            "tool_call" | "tool_call_update" => {
                let call = note_call(&mut ahead.calls, update);
                let id = call["toolCallId"].as_str().unwrap_or_default().to_owned();
                let runs = matches!(update["status"].as_str(), Some("completed" | "failed"))
                    || update.get("rawOutput").is_some();
                if runs && call["kind"] == "execute" && !ahead.asked_calls.contains(&id) {
                    let call = call.clone();
                    self.note_unasked_call(&call);
                }
            }
            // The first agent tells the editor of these for the fork, or the editor knows them already.
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update" => return,
            _ => {}
        }
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.goal == Goal::Run) else { return };
        let mut message = message;
        let suggestions = message.pointer_mut("/params/update/_meta").and_then(Value::as_object_mut);
        if let Some(meta) = suggestions {
            meta.shift_remove("promptSuggestions");
        }
        ahead.updates.push(message);
        if ahead.accepting.as_ref().is_some_and(|accepting| accepting.is_shown) {
            self.show_updates();
        }
    }

    fn second_asked(&mut self, message: Value) {
        let Some(ahead) = &mut self.ahead else { return };
        if ahead.goal == Goal::Suggest
            || !ahead.is_prompting()
            || message::session(&message) != ahead.fork.as_deref()
        {
            let answer = message::result(&message["id"], &json!({ "outcome": { "outcome": "cancelled" } }));
            return self.effects.push(Effect::ToSecond(message::line(&answer)));
        }
        let call = note_call(&mut ahead.calls, &message["params"]["toolCall"]).clone();
        ahead.asked_calls.extend(call["toolCallId"].as_str().map(str::to_owned));
        let Some(project) = self.sessions.get(&ahead.session).and_then(|session| session.project.as_ref())
        else {
            return;
        };
        let boundary = match (project.rules.judge(&call, true), allows_once(&message)) {
            (PermissionVerdict::Allowed, Some(option)) => {
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                let answer = message::result(&message["id"], &outcome);
                return self.effects.push(Effect::ToSecond(message::line(&answer)));
            }
            (PermissionVerdict::Allowed, None) => {
                Boundary { why: "it can only be allowed for good".to_owned(), holds_in_view: true }
            }
            (PermissionVerdict::Boundary(boundary), _) => boundary,
        };
        let session = ahead.session.clone();
        ahead.deadline = self.host.now().saturating_add(QUESTION_WAITS);
        ahead.questions.push_back((message, boundary));
        if ahead.accepting.is_some() {
            self.ask_editor();
        } else if ahead.questions.len() == 1 {
            self.tell_offer(&session);
        }
    }

    fn second_turn_ended(&mut self, result: &Value) {
        let now = self.host.now();
        let Some(ahead) = &mut self.ahead else { return };
        ahead.worked_ms = now.saturating_sub(ahead.began);
        let is_whole = result["stopReason"] == "end_turn";
        if ahead.goal == Goal::Suggest {
            let answer = std::mem::take(&mut ahead.answer_text);
            let tokens = usage(&result["usage"]);
            let cost = QueryCost { tokens, work_ms: ahead.worked_ms, dropped: false };
            let found = if is_whole { suggestion_in(&answer) } else { Err(SuppressionReason::Empty) };
            return self.own_suggestion(found, cost);
        }
        ahead.result = result.clone();
        if !is_whole {
            return self.drop_work("its turn did not end as turns do");
        }
        ahead.phase = WorkPhase::Freezing;
        if self.capabilities.close {
            ahead.steps.push_back(SetupStep::Close);
            self.next_step();
        } else {
            self.freeze();
        }
    }

    fn freeze(&mut self) {
        let Some(ahead) = &self.ahead else { return };
        self.effects.push(Effect::Freeze { number: ahead.number });
    }

    /// The view of the second agent has been read.
    pub(crate) fn frozen(&mut self, number: u64, frozen: Result<FrozenView, String>) {
        if !self.is_current(number) {
            return;
        }
        let Some(ahead) = &mut self.ahead else { return };
        let Some(session) = self.sessions.get(&ahead.session) else { return };
        let Some(project) = &session.project else { return };
        let closed = |changes: &ChangeSet| {
            let verdicts = changes
                .changes
                .iter()
                .map(|change| Gate::new().judge_path(Access::Write, &change.path, &project.rules.gate));
            verdicts
                .into_iter()
                .find(|verdict| verdict.decision == Decision::Boundary)
                .map(|verdict| verdict.detail)
        };
        let FrozenView { changes, refusal } = match frozen {
            Ok(frozen) => frozen,
            Err(why) => return self.drop_work(&why),
        };
        if let Some(why) = refusal.or_else(|| closed(&changes)) {
            return self.drop_work(&why);
        }
        let Some(fork) = ahead.fork.clone() else { return };
        (ahead.changes, ahead.phase) = (changes, WorkPhase::Adopting);
        let params = json!({ "sessionId": fork, "cwd": session.folder, "mcpServers": session.servers });
        self.ask_agent("session/resume", &params, OwnRequest::Adopt { number });
    }

    /// The first agent has loaded the fork, or refused to.
    pub(super) fn adopted(&mut self, number: u64, result: Result<&Value, &Value>) {
        if !self.is_current(number) {
            return;
        }
        if let Err(error) = result {
            return self.drop_work(&message::error_text(error));
        }
        let Some(ahead) = &mut self.ahead else { return };
        ahead.phase = WorkPhase::Settling;
        self.continue_settling();
    }

    /// The commit of the changes has been prepared.
    pub(crate) fn prepared(&mut self, number: u64) {
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.number == number) else { return };
        if ahead.phase != WorkPhase::Preparing {
            return;
        }
        ahead.phase = WorkPhase::Ready;
        let (session, is_taken) = (ahead.session.clone(), ahead.accepting.is_some());
        if is_taken {
            self.continue_accept();
        } else {
            self.tell_offer(&session);
        }
    }

    /// Writes the cost of the work to the ledger, once.
    pub(super) fn note_cost(&mut self, status: Status) {
        let now = self.host.now();
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.goal == Goal::Run) else { return };
        if std::mem::replace(&mut ahead.is_written, true) {
            return;
        }
        let bytes = ahead.changes.changes.iter().map(|change| match &change.kind {
            ChangeKind::Write { content, .. } => content.len() as u64,
            _ => 0,
        });
        let tokens = if ahead.result.is_null() { Usage::UNTOLD } else { usage(&ahead.result["usage"]) };
        let cost = Cost {
            tokens,
            staged_files: ahead.changes.changes.len() as u64,
            staged_bytes: bytes.sum(),
            work_ms: if ahead.worked_ms == 0 { now.saturating_sub(ahead.began) } else { ahead.worked_ms },
            ..Cost::default()
        };
        let Some(session) = self.sessions.get_mut(&ahead.session) else { return };
        if let (Some(project), Some(offered)) = (&mut session.project, &session.offer) {
            project.metering.record_foreign_run(now, &offered.id, &offered.text, &cost, status);
        }
    }

    /// Gives up the work. The suggestion stays, as an ordinary prompt.
    pub(super) fn drop_work(&mut self, why: &str) {
        tracing::info!(why, "what ran ahead is dropped");
        self.note_cost(Status::Failed);
        let Some(ahead) = &mut self.ahead else { return };
        let (session, accepting) = (ahead.session.clone(), ahead.accepting.take());
        let had_work = ahead.goal == Goal::Run;
        self.end_ahead();
        match accepting {
            Some(accepting) => self.run_without_work(&session, &accepting, why),
            None if had_work => self.tell_offer(&session),
            None => {}
        }
        self.write_ledger(&session);
    }

    /// The first agent's model failed, so the second agent stops, unless the user waits for it as for their own turn.
    pub(super) fn agent_failed(&mut self, why: &str) {
        if !self.is_accepting() && self.ahead.as_ref().is_some_and(|ahead| ahead.phase == WorkPhase::Working)
        {
            self.drop_work(&format!("the first agent could not go on: {why}"));
        }
    }

    /// Ends the second agent and everything of it.
    pub(super) fn end_ahead(&mut self) {
        let Some(mut ahead) = self.ahead.take() else { return };
        if let Some((request, SetupStep::Fork)) = ahead.pending_step {
            // The fork may be there already, and nobody knows its name yet. Without a note it would be shown to the user.
            self.leaving.insert(ahead.number, request);
            return self.effects.push(Effect::Leave { number: ahead.number });
        }
        self.effects.push(Effect::End { number: ahead.number });
        if let Some(fork) = ahead.fork.take() {
            if ahead.is_adopted() && self.capabilities.close {
                self.ask_agent("session/close", &json!({ "sessionId": fork }), OwnRequest::Other);
            }
            self.delete(fork);
        }
    }

    /// A second agent whose work was given up has said which session its fork is.
    fn left(&mut self, number: u64, fork: &Value) {
        self.leaving.remove(&number);
        self.effects.push(Effect::End { number });
        if let Some(fork) = fork.as_str() {
            self.keep(StateChange::ForkMade(fork.to_owned(), self.host.process()));
            self.delete(fork.to_owned());
        }
    }

    /// Gives up work that takes too long. Called at regular intervals.
    pub(crate) fn tick(&mut self) {
        let now = self.host.now();
        let Some(ahead) = &self.ahead else { return };
        if ahead.phase == WorkPhase::Working && ahead.accepting.is_none() && ahead.deadline <= now {
            self.drop_work("its time is up");
        } else if ahead.fork_settings.is_late(now) && !self.is_committing() {
            self.drop_work("the agent did not give the fork the settings of its session in time");
        }
    }
}

/// Merges what is told of a call now into what is known of it.
fn note_call<'a>(calls: &'a mut BTreeMap<String, Value>, update: &Value) -> &'a Value {
    let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
    let call = calls.entry(id).or_insert_with(|| json!({}));
    for (name, value) in update.as_object().into_iter().flatten() {
        let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        if !is_empty {
            call[name] = value.clone();
        }
    }
    call
}

/// The cost of a turn, as far as the agent reports it.
pub(super) fn usage(report: &Value) -> Usage {
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    if report.get("inputTokens").is_none() {
        return Usage::UNTOLD;
    }
    let (read, written) = (number("cachedReadTokens"), number("cachedWriteTokens"));
    Usage {
        // The protocol does not include cached tokens in this number.
        input_tokens: number("inputTokens") + read + written,
        cached_input_tokens: read,
        cache_creation_tokens: written,
        output_tokens: number("outputTokens") + number("thoughtTokens"),
        ..Usage::NOTHING
    }
}
