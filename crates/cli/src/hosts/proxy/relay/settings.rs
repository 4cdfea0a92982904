//! The settings of a session, and how a fork gets them before it stands for the session. Nothing here does IO.

use std::collections::VecDeque;

use headstart_budget::ledger::Outcome;
use headstart_speculation::Status;
use serde_json::{Value, json};

use super::second_agent::{WorkAhead, WorkPhase};
use super::{Effect, OwnRequest, PendingRequest, Proxy};
use crate::hosts::proxy::message;

/// How long the agent may take to bring a fork into the settings of its session, in milliseconds.
const SETTLE_TIMEOUT: u64 = 10 * 1000;

/// Whether a request of this method changes the settings of a session.
pub(super) fn is_setting(method: &str) -> bool {
    matches!(method, "session/set_mode" | "session/set_model" | "session/set_config_option")
}

/// The settings of a session, as the editor shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SessionSettings {
    /// What the editor set except for the mode: each subject once, in the order in which they were last set, because
    /// some agents have two requests for one subject.
    changes: Vec<SettingRequest>,
    pub(super) mode: Option<String>,
    /// The modes that `session/set_mode` takes.
    modes: Vec<String>,
    /// The id of the option that is the mode, if the agent has such an option.
    mode_option: Option<String>,
}

/// A request that changes the settings of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingRequest {
    pub(super) method: String,
    pub(super) params: Value,
}

impl SettingRequest {
    fn is_about_same(&self, other: &Self) -> bool {
        self.method == other.method && self.params["configId"] == other.params["configId"]
    }
}

impl SessionSettings {
    /// The settings of a session that the agent opened with this answer.
    pub(super) fn opened(answer: &Value) -> Self {
        let mut settings = Self::default();
        settings.note_options(&answer["configOptions"]);
        let modes = &answer["modes"];
        let ids = modes["availableModes"].as_array().into_iter().flatten();
        settings.modes = ids.filter_map(|mode| mode["id"].as_str().map(str::to_owned)).collect();
        settings.note_mode(modes["currentModeId"].as_str());
        settings
    }

    /// Notes what the agent did for a request of the editor's.
    fn note_change(&mut self, method: &str, params: &Value, result: &Value) {
        let option = params["configId"].as_str();
        if method == "session/set_mode" {
            self.note_mode(params["modeId"].as_str());
        } else if option.is_some_and(|option| option == "mode" || self.mode_option.as_deref() == Some(option))
        {
            self.note_mode(params["value"].as_str());
        } else {
            let change = SettingRequest { method: method.to_owned(), params: params.clone() };
            self.changes.retain(|earlier| !earlier.is_about_same(&change));
            self.changes.push(change);
        }
        self.note_options(&result["configOptions"]);
    }

    pub(super) fn note_mode(&mut self, mode: Option<&str>) {
        self.mode = mode.map(str::to_owned).or(self.mode.take());
    }

    /// Notes the values of options that the agent reports.
    pub(super) fn note_options(&mut self, options: &Value) {
        if let Some(option) = mode_option(options) {
            self.mode_option = option["id"].as_str().map(str::to_owned);
            self.note_mode(option["currentValue"].as_str());
        }
        for option in options.as_array().into_iter().flatten() {
            let set = |change: &&mut SettingRequest| change.params["configId"] == option["id"];
            if let Some(change) = self.changes.iter_mut().find(set)
                && !option["id"].is_null()
                && !option["currentValue"].is_null()
            {
                change.params["value"] = option["currentValue"].clone();
            }
        }
    }

    /// What the editor set except for the mode, in order.
    pub(super) fn changes(&self) -> &[SettingRequest] {
        &self.changes
    }

    /// Whether the agent is to plan and to change nothing.
    pub(super) fn is_planning(&self) -> bool {
        self.mode.as_deref() == Some("plan")
    }

    /// The requests that bring another session into these settings. The mode comes last, because an agent may change it
    /// together with the model.
    fn requests(&self) -> VecDeque<SettingRequest> {
        let mode = self.mode.as_ref().map(|mode| match &self.mode_option {
            Some(option) if !self.modes.contains(mode) => SettingRequest {
                method: "session/set_config_option".to_owned(),
                params: json!({ "configId": option, "value": mode }),
            },
            _ => SettingRequest { method: "session/set_mode".to_owned(), params: json!({ "modeId": mode }) },
        });
        self.changes.iter().cloned().chain(mode).collect()
    }
}

fn mode_option(options: &Value) -> Option<&Value> {
    options.as_array()?.iter().find(|option| option["category"] == "mode")
}

/// How far a fork has the settings of its session.
#[derive(Default)]
pub(super) struct ForkSettings {
    /// The settings that the agent gave it.
    given: Option<SessionSettings>,
    /// The settings that it is being given, and the requests for them that were not sent yet.
    asked: Option<(SessionSettings, VecDeque<SettingRequest>)>,
    /// Its mode, as the agent last reported or confirmed it.
    mode: Option<String>,
    /// When the work is dropped if the fork does not have the settings of its session, in milliseconds since the Unix
    /// epoch.
    deadline: Option<u64>,
}

impl ForkSettings {
    pub(super) fn is_late(&self, now: u64) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

impl Proxy {
    /// The agent answered a request of the editor's that changes a session's settings, or refused it.
    pub(super) fn setting_answered(&mut self, pending: &PendingRequest, result: Option<&Value>) {
        let Some(request) = &pending.request else { return };
        let id = message::session(request).unwrap_or_default();
        if let (Some(session), Some(result)) = (self.sessions.get_mut(id), result) {
            session.settings.note_change(&pending.method, &request["params"], result);
        }
        self.settings_changed(id);
    }

    /// The settings of a session may have changed. In plan mode nothing runs ahead and nothing is taken; any other change
    /// is passed on to the fork that may soon stand for the session.
    pub(super) fn settings_changed(&mut self, id: &str) {
        if self.sessions.get(id).is_some_and(|session| session.settings.is_planning()) {
            return self.discard_work_in(id, Outcome::Aborted);
        }
        if self.ahead.as_ref().is_some_and(|ahead| ahead.session == id && ahead.is_adopted()) {
            self.continue_settling();
        }
    }

    /// Whether the fork has the settings of its session. If not, the agent is asked to give it what is missing.
    pub(super) fn has_settings(&mut self) -> bool {
        let now = self.host.now();
        let Some(ahead) = &mut self.ahead else { return false };
        let Some(session) = self.sessions.get(&ahead.session) else { return false };
        let is_about = |request: &Value| message::session(request) == Some(ahead.session.as_str());
        let mut pending = self.pending.values().filter(|pending| is_setting(&pending.method));
        let is_changing = pending.any(|pending| pending.request.as_ref().is_some_and(is_about));
        let fork = &mut ahead.fork_settings;
        if !is_changing && fork.asked.is_none() && fork.given.as_ref() == Some(&session.settings) {
            fork.deadline = None;
            if fork.mode == session.settings.mode {
                return true;
            }
            self.drop_work("the agent did not leave the fork in the mode of its session");
            return false;
        }
        fork.deadline.get_or_insert(now.saturating_add(SETTLE_TIMEOUT));
        if is_changing || fork.asked.is_some() {
            return false;
        }
        fork.asked = Some((session.settings.clone(), session.settings.requests()));
        self.ask_next_setting() && self.has_settings()
    }

    /// Sends the next request for the settings of the fork. Returns whether none is left.
    fn ask_next_setting(&mut self) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let Some((_, requests)) = &mut ahead.fork_settings.asked else { return false };
        if let Some(SettingRequest { method, mut params }) = requests.pop_front() {
            params["sessionId"] = ahead.fork.clone().into();
            let number = ahead.number;
            self.ask_agent(&method, &params, OwnRequest::Settle { number });
            return false;
        }
        if let Some((settings, _)) = ahead.fork_settings.asked.take() {
            ahead.fork_settings.mode.clone_from(&settings.mode);
            ahead.fork_settings.given = Some(settings);
        }
        true
    }

    /// The agent answered a request for the settings of the fork. Where it refused, the fork may be in a mode that allows
    /// more than the editor shows, so its work is dropped.
    pub(super) fn fork_setting_answered(&mut self, number: u64, result: Result<&Value, &Value>) {
        if !self.is_current(number) {
            return;
        }
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let said = message::error_text(error);
                return self.drop_work(&format!("the fork does not get the settings of its session: {said}"));
            }
        };
        let is_done = self.ask_next_setting();
        self.note_fork_mode(
            mode_option(&result["configOptions"]).and_then(|option| option["currentValue"].as_str()),
        );
        if is_done {
            self.continue_settling();
        }
    }

    /// Goes on once the fork has the settings of its session.
    pub(super) fn continue_settling(&mut self) {
        if self.is_committing() || !self.has_settings() {
            return;
        }
        let Some(ahead) = &mut self.ahead else { return };
        let is_taken = ahead.accepting.is_some();
        if ahead.phase != WorkPhase::Settling {
            if is_taken {
                self.continue_accept();
            }
            return;
        }
        // If the user has taken the work already, only the commit is left to wait for.
        ahead.phase = if is_taken { WorkPhase::Ready } else { WorkPhase::Preparing };
        let (number, changes) = (ahead.number, ahead.changes.clone());
        let folder = self.sessions.get(&ahead.session).map(|session| session.folder.clone());
        self.note_cost(Status::Completed);
        if is_taken {
            self.continue_accept();
        } else if let Some(folder) = folder {
            self.effects.push(Effect::Prepare { number, folder, changes });
        }
    }

    /// Learns from an update about a session that the user must not see: if it is the fork, its mode counts.
    pub(super) fn note_fork_update(&mut self, told: &Value) {
        let fork =
            self.ahead.as_ref().filter(|ahead| ahead.is_adopted()).and_then(|ahead| ahead.fork.as_deref());
        if fork.is_none() || fork != message::session(told) {
            return;
        }
        let update = &told["params"]["update"];
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "current_mode_update" => self.note_fork_mode(update["currentModeId"].as_str()),
            "config_option_update" => {
                let option = mode_option(&update["configOptions"]);
                self.note_fork_mode(option.and_then(|option| option["currentValue"].as_str()));
            }
            _ => {}
        }
    }

    fn note_fork_mode(&mut self, mode: Option<&str>) {
        if let (Some(ahead), Some(mode)) = (&mut self.ahead, mode) {
            ahead.fork_settings.mode = Some(mode.to_owned());
        }
    }

    /// A fork stands for its session from now on. If the agent changed the mode of one of them by itself while the changes
    /// were written, the editor is told the mode that counts.
    pub(super) fn tell_fork_mode(&mut self, id: &str, ahead: &WorkAhead) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.settings.mode == ahead.fork_settings.mode {
            return;
        }
        session.settings.mode.clone_from(&ahead.fork_settings.mode);
        if let Some(mode) = &ahead.fork_settings.mode {
            let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode });
            self.send_to_editor(&message::update(id, &update));
        }
    }
}
