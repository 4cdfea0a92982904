//! Suggestions: who makes them, whether they are shown and run, and how the user is told. Nothing here does IO.

use headstart_budget::QueryCost;
use headstart_budget::ledger::Outcome;
use headstart_budget::policy::{Beside, Guess};
use headstart_followup_state::{Suggestion, filter};
use headstart_forked_query::SuppressionReason;
use headstart_machine::conversation::words;
use serde_json::{Value, json};

use super::second_agent::{Goal, WorkAhead};
use super::{Effect, OfferedSuggestion, Proxy, Suggestions};
use crate::hosts::acp::offer::{Offer, Unsuggested};
use crate::hosts::proxy::message;

/// The least number of the model's answers before a suggestion, because too little is known of the user's aim before.
const MIN_ENTRIES: usize = 2;

impl Proxy {
    /// Learns from the editor's `initialize`. If the agent is to suggest, it is told that the editor shows suggestions;
    /// whatever else it then sends to such an editor is removed again ([`without_capability`]).
    pub(super) fn initialize(&mut self, message: &Value) -> bool {
        self.introduction = message["params"].clone();
        let declared = "/params/clientCapabilities/_meta/jetbrains/air";
        self.shows_suggestions = message.pointer(declared).is_some();
        self.expect_answer(message, None);
        if self.suggestions != Suggestions::Agent || self.shows_suggestions {
            return false;
        }
        let mut message = message.clone();
        message["params"]["clientCapabilities"]["_meta"]["jetbrains"]["air"] = json!({});
        self.effects.push(Effect::ToAgent(message::line(&message)));
        true
    }

    /// Whether the agent's additions for an editor that shows suggestions must be removed, because only the proxy
    /// declared that.
    pub(super) fn declares(&self) -> bool {
        self.suggestions == Suggestions::Agent && !self.shows_suggestions
    }

    /// A turn of the user's ended well.
    pub(super) fn turn_ended(&mut self, id: &str) {
        // Work that the user waits for is not given up.
        if self.suggestions != Suggestions::Own || self.is_accepting() || !self.may_fork() {
            return;
        }
        let now = self.host.now();
        let Some(session) = self.sessions.get_mut(id).filter(|session| !session.is_off) else { return };
        let Some(project) = &mut session.project else { return };
        if session.entries < MIN_ENTRIES {
            return;
        }
        let held = if session.settings.is_planning() {
            words::unsuggested("plan_mode", Ok(())).map(|why| ("plan_mode", why))
        } else {
            project.metering.ask_or_record(now).err().map(|skip| (skip.code(), skip.to_string()))
        };
        if let Some((code, why)) = held {
            return self.tell_withheld(id, Unsuggested { code: code.to_owned(), why });
        }
        let most_ms = project.most_ms;
        self.discard_work(Outcome::Replaced);
        self.start(id, Goal::Suggest, most_ms);
    }

    /// Tells the editor why nothing is suggested, and an editor that shows no such thing its user's log: once for each
    /// reason.
    fn tell_withheld(&mut self, id: &str, unsuggested: Unsuggested) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let is_new = session.reasons_told.insert(unsuggested.code.clone());
        let why = format!("nothing is suggested: {}", unsuggested.why);
        let update = serde_json::to_value(Offer::withheld(unsuggested).update()).unwrap_or_default();
        self.send_to_editor(&message::update(id, &update));
        if is_new {
            self.effects.push(Effect::Say(why));
        }
    }

    /// Whether the agent can be forked, and can load the fork later.
    fn may_fork(&mut self) -> bool {
        if self.profile.is_none() || self.unfit.is_some() {
            return false;
        }
        if !(self.capabilities.fork && self.capabilities.resume) {
            self.is_unfit("this version of the agent offers neither session/fork nor session/resume");
            return false;
        }
        true
    }

    /// From now on the proxy only passes messages on, and nothing runs ahead.
    pub(crate) fn is_unfit(&mut self, why: &str) {
        if self.unfit.is_none() {
            self.effects.push(Effect::Say(format!("nothing runs ahead: {why}")));
            self.unfit = Some(why.to_owned());
        }
    }

    /// The answer to the question that this program asks for a suggestion.
    pub(super) fn own_suggestion(&mut self, found: Result<Suggestion, SuppressionReason>, cost: QueryCost) {
        let now = self.host.now();
        let Some(ahead) = &mut self.ahead else { return };
        let session = ahead.session.clone();
        if let Some(fork) = ahead.fork.take() {
            self.delete(fork);
        }
        match found {
            Ok(suggestion) => self.show(&session, &suggestion, cost),
            Err(reason) => {
                let project = self.sessions.get_mut(&session).and_then(|session| session.project.as_mut());
                if let Some(project) = project {
                    project.metering.record_suggestion(now, "", None, cost, Some(reason.as_str().into()));
                }
                self.end_ahead();
            }
        }
        self.write_ledger(&session);
    }

    /// A suggestion of the agent's own. An empty one withdraws the last.
    pub(super) fn offer_suggestion(&mut self, id: &str, text: &str, cost: QueryCost) {
        let (now, is_taking) = (self.host.now(), self.is_accepting());
        let Some(session) = self.sessions.get_mut(id).filter(|session| !session.is_off) else { return };
        if self.suggestions == Suggestions::Off
            || is_taking
            || session.offer.as_ref().is_some_and(|offered| offered.text == text)
        {
            return;
        }
        let Some(project) = &mut session.project else { return };
        if text.is_empty() {
            // The agent withdraws its suggestion.
            return self.discard_work(Outcome::Replaced);
        }
        match filter(text.trim()) {
            Ok(suggestion) => {
                self.discard_work(Outcome::Replaced);
                self.show(id, &suggestion, cost);
            }
            Err(reason) => {
                project.metering.record_suggestion(now, "", None, cost, Some(reason.as_str().into()));
            }
        }
        self.write_ledger(id);
    }

    /// Shows a suggestion, and starts the work for it if that is worth it.
    fn show(&mut self, id: &str, suggestion: &Suggestion, cost: QueryCost) {
        let now = self.host.now();
        let text = suggestion.as_str().to_owned();
        let offered = OfferedSuggestion { id: self.host.id(), text: text.clone() };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(project) = &mut session.project else { return };
        let guess = Guess::from(suggestion);
        project.metering.record_suggestion(now, &offered.id, Some(guess), cost, None);
        project.metering.note_shown();
        let is_allowed = project.metering.allow_run(now, &offered.id, guess, Beside::default()).is_some();
        let runs = is_allowed && project.speculation && !session.settings.is_planning();
        let time = project.most_ms;
        session.offer = Some(offered);
        if !runs || !self.may_fork() {
            self.end_ahead();
        } else if let Some(ahead) = &mut self.ahead {
            // The second agent that made the suggestion also does the work.
            (ahead.goal, ahead.began, ahead.deadline) = (Goal::Run, now, now.saturating_add(time));
            self.plan_fork();
            self.next_step();
        } else {
            self.start(id, Goal::Run, time);
        }
        self.tell_offer(id);
    }

    /// Tells the editor the suggestion and the state of the work for it.
    pub(super) fn tell_offer(&mut self, id: &str) {
        let update = self.offer(id).update();
        let update = serde_json::to_value(update).unwrap_or_default();
        self.send_to_editor(&message::update(id, &update));
        self.tell_commands(id);
    }

    /// Tells the editor the agent's commands, and the command that takes the suggestion.
    pub(super) fn tell_commands(&mut self, id: &str) {
        let next = self.offer(id).next().and_then(|next| serde_json::to_value(next).ok());
        let own = self.sessions.get(id).and_then(|session| session.commands.clone());
        let mut commands = own.and_then(|own| own.as_array().cloned()).unwrap_or_default();
        if self.declares() {
            commands.iter_mut().for_each(strip);
        }
        commands.splice(0..0, next);
        let update = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
        self.send_to_editor(&message::update(id, &update));
    }

    fn offer(&self, id: &str) -> Offer {
        let Some(offered) = self.sessions.get(id).and_then(|session| session.offer.as_ref()) else {
            return Offer::default();
        };
        let work = self.ahead.as_ref().filter(|ahead| ahead.session == id).and_then(WorkAhead::status_words);
        Offer::of_work(&offered.text, work.map(|(state, changes)| (offered.id.as_str(), state, changes)))
    }
}

/// An answer without the agent's additions for an editor that shows suggestions; `None` if it has no such additions.
pub(super) fn without_capability(answer: &Value) -> Option<Value> {
    let mut rest = answer.clone();
    strip(&mut rest);
    let can = rest.pointer_mut("/result/agentCapabilities/sessionCapabilities");
    if let Some(can) = can.and_then(Value::as_object_mut) {
        can.shift_remove("subagents");
    }
    (rest != *answer).then_some(rest)
}

/// Removes the agent's additions for such an editor, at any depth.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let meta = fields.get_mut("_meta").and_then(Value::as_object_mut);
            if let Some(meta) = meta
                && meta.shift_remove("jetbrains").is_some()
                && meta.is_empty()
            {
                fields.shift_remove("_meta");
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// A message without the agent's additions for an editor that shows suggestions.
#[derive(Debug, PartialEq)]
pub(super) enum FilteredMessage {
    /// The message has no such additions.
    Whole,
    Part(Value),
    /// The message has nothing else.
    Nothing,
}

pub(super) fn strip_additions(message: &Value) -> FilteredMessage {
    let mut rest = message.clone();
    let suggestions = rest.pointer_mut("/params/update/_meta").and_then(Value::as_object_mut);
    if let Some(meta) = suggestions
        && meta.shift_remove("promptSuggestions").is_some()
        && meta.is_empty()
        && let Some(fields) = rest.pointer_mut("/params/update").and_then(Value::as_object_mut)
    {
        fields.shift_remove("_meta");
    }
    strip(&mut rest);
    if rest == *message {
        return FilteredMessage::Whole;
    }
    let fields = rest["params"]["update"].as_object();
    let is_info = fields.is_some_and(|fields| {
        fields.len() == 1 && fields.get("sessionUpdate").is_some_and(|kind| kind == "session_info_update")
    });
    if is_info { FilteredMessage::Nothing } else { FilteredMessage::Part(rest) }
}
