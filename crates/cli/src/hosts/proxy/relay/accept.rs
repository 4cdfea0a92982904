//! A prompt that takes the suggestion together with the work that was done for it. Nothing here does IO.

use headstart_budget::ledger::Outcome;
use headstart_followup_state::filter;
use headstart_overlay_fs::CommitOutcome;
use headstart_speculation::Status;
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;

use super::second_agent::{WorkAhead, WorkPhase};
use super::settings::is_setting;
use super::{Effect, OwnRequest, Proxy};
use crate::hosts::acp::updates::diffs;
use crate::hosts::proxy::message;
use crate::hosts::proxy::state::{PendingAccept, StateChange};

const TAKE: &str = "/next";

/// A prompt that waits for the work that it takes.
#[expect(clippy::struct_excessive_bools, reason = "each may hold without the others")]
pub(super) struct AcceptingPrompt {
    /// The prompt, with the suggestion as its text.
    prompt: Value,
    /// Whether the user is shown the work so far and everything that follows.
    pub(super) is_shown: bool,
    /// The number of updates that were shown.
    shown: usize,
    /// The id of the last question that the user was asked, and its subject.
    open_question: Option<(String, QuestionSubject)>,
    is_agreed: bool,
    is_committing: bool,
    /// Whether the work was still going on when it was taken.
    joined: bool,
}

/// A prompt that arrived while the one before it takes work, or a change of the session's settings that arrived while
/// the changes are written.
pub(super) struct QueuedRequest {
    session: String,
    id: Value,
    is_prompt: bool,
    /// The unchanged line.
    line: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuestionSubject {
    /// One call of the second agent.
    Call,
    /// All changes together.
    Changes,
}

impl Proxy {
    /// Whether the user waits for work that they took.
    pub(super) fn is_accepting(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.accepting.is_some())
    }

    pub(super) fn is_committing(&self) -> bool {
        let accepting = self.ahead.as_ref().and_then(|ahead| ahead.accepting.as_ref());
        accepting.is_some_and(|accepting| accepting.is_committing)
    }

    fn is_accepting_in(&self, session: &str) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.accepting.is_some() && ahead.session == session)
    }

    /// Whether a request has to wait for the prompt that takes work, which the agent does not know yet. While changes are
    /// written, a setting waits too, because it is not certain yet whether the session or the fork has to get it.
    pub(crate) fn queue_if_accepting(&mut self, request: &Value, line: &[u8]) -> bool {
        let session = message::session(request).unwrap_or_default();
        let is_prompt = message::method(request) == "session/prompt";
        let may_wait = is_prompt || (self.is_committing() && is_setting(message::method(request)));
        let waits = may_wait && self.is_accepting_in(session);
        if waits {
            let session = session.to_owned();
            self.queued_requests.push_back(QueuedRequest {
                session,
                id: request["id"].clone(),
                is_prompt,
                line: line.to_vec(),
            });
        }
        waits
    }

    /// Handles the waiting requests in order, once nothing is being taken in their sessions.
    pub(super) fn handle_queued_requests(&mut self) {
        let free = |proxy: &Self| {
            proxy.queued_requests.iter().position(|waiting| !proxy.is_accepting_in(&waiting.session))
        };
        while let Some(waiting) = free(self).and_then(|at| self.queued_requests.remove(at)) {
            self.editor(&waiting.line);
        }
    }

    /// The ids of requests that this program has to answer, for a caller that can only refuse them.
    pub(super) fn take_unanswered(&mut self) -> Vec<Value> {
        let accepting = self.ahead.as_mut().and_then(|ahead| ahead.accepting.take());
        let waiting = self.queued_requests.drain(..).map(|waiting| waiting.id);
        accepting.map(|accepting| accepting.prompt["id"].clone()).into_iter().chain(waiting).collect()
    }

    /// Handles a prompt from the user. Returns whether the agent need not see it.
    pub(crate) fn prompt(&mut self, id: &str, prompt: &Value) -> bool {
        let words = message::words(prompt);
        let words = words.as_deref().map(str::trim);
        if let Some(word @ ("/ahead on" | "/ahead off")) = words
            && self.sessions.contains_key(id)
        {
            self.switch(id, prompt, word == "/ahead off");
            return true;
        }
        let offered = self.sessions.get(id).and_then(|session| session.offer.as_ref());
        let is_taken = offered.zip(words).is_some_and(|(offered, words)| {
            words == TAKE || filter(&offered.text).is_ok_and(|suggestion| suggestion.is_same_as(words))
        });
        let text = offered.map(|offered| offered.text.clone()).unwrap_or_default();
        if !is_taken {
            self.discard_work_in(id, Outcome::Ignored);
            return false;
        }
        let prompt = message::with_words(prompt, &text);
        let has_work =
            self.ahead.as_ref().is_some_and(|ahead| ahead.session == id && ahead.status_words().is_some());
        if !has_work {
            self.decided(id, Outcome::Accepted);
            self.forget_offer(id);
            self.send_prompt(&prompt);
            return true;
        }
        let Some(ahead) = &mut self.ahead else { return false };
        ahead.accepting = Some(AcceptingPrompt {
            prompt,
            is_shown: false,
            shown: 0,
            open_question: None,
            is_agreed: false,
            is_committing: false,
            joined: !ahead.is_adopted(),
        });
        self.withdraw_offer(id);
        self.continue_accept();
        true
    }

    fn switch(&mut self, id: &str, prompt: &Value, off: bool) {
        if off {
            self.discard_work_in(id, Outcome::Aborted);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.is_off = off;
        }
        let text = if off {
            "Nothing runs ahead in this session."
        } else {
            "After a turn its next prompt is suggested and run ahead."
        };
        self.say(id, text);
        self.send_to_editor(&message::result(&prompt["id"], &json!({ "stopReason": "end_turn" })));
    }

    /// Takes the next step for a prompt that takes work.
    pub(super) fn continue_accept(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(accepting) = &mut ahead.accepting else { return };
        match ahead.phase {
            WorkPhase::Working => {
                if let Some((_, boundary)) =
                    ahead.questions.iter().find(|(_, boundary)| !boundary.holds_in_view)
                {
                    let why = boundary.why.clone();
                    return self.drop_work(&why);
                }
                accepting.is_shown = true;
                self.show_updates();
                self.ask_editor();
            }
            WorkPhase::Freezing | WorkPhase::Adopting | WorkPhase::Settling | WorkPhase::Preparing => {}
            WorkPhase::Ready if accepting.is_committing || accepting.open_question.is_some() => {}
            // From here to the commit nothing else is handled, so the fork has the settings when it stands for the session.
            WorkPhase::Ready => {
                if self.has_settings() {
                    self.agree_or_commit();
                }
            }
        }
    }

    /// Shows the updates of the work that were not shown yet, under the session's id in the editor.
    pub(super) fn show_updates(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(accepting) = &mut ahead.accepting else { return };
        let from = std::mem::replace(&mut accepting.shown, ahead.updates.len());
        for update in &ahead.updates[from..] {
            let mut update = update.clone();
            update["params"]["sessionId"] = ahead.session.clone().into();
            self.effects.push(Effect::ToEditor(message::line(&update)));
        }
    }

    /// Passes the first waiting question on to the user.
    pub(super) fn ask_editor(&mut self) {
        let id = self.own_id();
        let Some(ahead) = &mut self.ahead else { return };
        let (session, Some(accepting)) = (ahead.session.clone(), &mut ahead.accepting) else { return };
        let Some((question, boundary)) =
            ahead.questions.front().filter(|_| accepting.open_question.is_none())
        else {
            return;
        };
        if !boundary.holds_in_view {
            let why = boundary.why.clone();
            return self.drop_work(&why);
        }
        let mut params = question["params"].clone();
        params["sessionId"] = session.into();
        if let Some(options) = params["options"].as_array_mut() {
            // A permanent choice would be stored in an agent that ends soon.
            options.retain(|option| option["kind"] != "allow_always" && option["kind"] != "reject_always");
        }
        accepting.open_question = Some((id.clone(), QuestionSubject::Call));
        self.send_to_editor(&message::request(&id, "session/request_permission", &params));
    }

    pub(super) fn answered_by_editor(&mut self, id: &str, answer: &Value) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(accepting) = &mut ahead.accepting else { return };
        let Some((_, about)) = accepting.open_question.take_if(|(question, _)| question == id) else {
            return;
        };
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let result = answer.get("result").cloned().unwrap_or(cancelled);
        match about {
            QuestionSubject::Call => {
                let Some((question, _)) = ahead.questions.pop_front() else { return };
                let answer = message::result(&question["id"], &result);
                self.effects.push(Effect::ToSecond(message::line(&answer)));
                self.ask_editor();
            }
            QuestionSubject::Changes if result["outcome"]["optionId"] == "write" => {
                accepting.is_agreed = true;
                self.continue_accept();
            }
            QuestionSubject::Changes => self.refused(),
        }
    }

    /// The user does not want the changes.
    fn refused(&mut self) {
        let Some(accepting) = self.ahead.as_mut().and_then(|ahead| ahead.accepting.take()) else { return };
        let Some(session) = self.ahead.as_ref().map(|ahead| ahead.session.clone()) else { return };
        self.note_outcome(Outcome::Aborted, 0);
        self.end_ahead();
        self.forget_offer(&session);
        self.say(&session, "Nothing was written.");
        self.send_to_editor(&message::result(&accepting.prompt["id"], &json!({ "stopReason": "end_turn" })));
        self.write_ledger(&session);
    }

    fn agree_or_commit(&mut self) {
        let id = self.own_id();
        let profile = self.profile;
        let Some(ahead) = &mut self.ahead else { return };
        let Some(session) = self.sessions.get(&ahead.session) else { return };
        let Some(accepting) = &mut ahead.accepting else { return };
        let asks = session.project.as_ref().is_none_or(|project| project.mode == ApprovalMode::Default);
        let mode = session.settings.mode.as_deref();
        let edits = mode.is_some_and(|mode| profile.is_some_and(|profile| profile.edits_in.contains(&mode)));
        if ahead.changes.is_empty() || accepting.is_agreed || !asks || edits {
            accepting.is_committing = true;
            let (folder, changes) = (session.folder.clone(), ahead.changes.clone());
            let taking = PendingAccept {
                session: ahead.session.clone(),
                folder: folder.clone(),
                changes: changes.digest(),
                by: self.host.process(),
            };
            let note = StateChange::AcceptBegun(ahead.fork.clone().unwrap_or_default(), taking);
            self.state.apply(&note);
            return self.effects.push(Effect::Commit { number: ahead.number, folder, changes, note });
        }
        let folder = Path::new(&session.folder);
        let paths = ahead.changes.summary();
        let places: Vec<Value> =
            paths.iter().map(|change| json!({ "path": folder.join(change.path.to_string()) })).collect();
        let title = format!(
            "Take what ran ahead: {}",
            headstart_machine::conversation::words::counted(paths.len(), "file")
        );
        let call = json!({
            "toolCallId": format!("{id}-changes"), "title": title, "kind": "edit", "status": "pending",
            "locations": places, "content": diffs(&ahead.changes, folder),
        });
        let options = json!([
            { "optionId": "write", "name": "Write these changes", "kind": "allow_once" },
            { "optionId": "drop", "name": "Drop them", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": ahead.session, "toolCall": call, "options": options });
        accepting.open_question = Some((id.clone(), QuestionSubject::Changes));
        self.send_to_editor(&message::request(&id, "session/request_permission", &params));
    }

    /// The changes were committed, or could not be.
    pub(crate) fn committed(&mut self, number: u64, outcome: Result<CommitOutcome, String>) {
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.number == number) else { return };
        match outcome {
            Ok(CommitOutcome::Committed(_)) => self.accept_finished(),
            Ok(CommitOutcome::Conflict(_)) => {
                let accepting = ahead.accepting.take();
                let session = ahead.session.clone();
                self.accept_failed();
                self.note_outcome(Outcome::Conflict, 0);
                self.end_ahead();
                if let Some(accepting) = accepting {
                    self.run_without_work(
                        &session,
                        &accepting,
                        "files that it rests on were changed meanwhile",
                    );
                }
                self.write_ledger(&session);
            }
            Err(why) => {
                self.accept_failed();
                self.drop_work(&why);
            }
        }
    }

    fn accept_failed(&mut self) {
        if let Some(fork) = self.ahead.as_ref().and_then(|ahead| ahead.fork.clone()) {
            self.keep(StateChange::AcceptFailed(fork));
        }
    }

    fn accept_finished(&mut self) {
        self.show_updates();
        let Some(mut ahead) = self.ahead.take() else { return };
        let Some(accepting) = ahead.accepting.take() else { return };
        let (session, Some(fork)) = (ahead.session.clone(), ahead.fork.take()) else { return };
        let before = self.agents_name(&session);
        self.keep(StateChange::ForkAccepted { session: session.clone(), fork });
        self.tell_fork_mode(&session, &ahead);
        self.send_to_editor(&message::result(&accepting.prompt["id"], &ahead.result.clone()));
        let (outcome, saved) =
            if accepting.joined { (Outcome::Joined, 0) } else { (Outcome::Accepted, ahead.worked_ms) };
        self.effects.push(Effect::End { number: ahead.number });
        self.note_outcome_for(&session, outcome, saved, &ahead);
        if self.capabilities.close {
            self.ask_agent("session/close", &json!({ "sessionId": before }), OwnRequest::Other);
        }
        // The session that the user knew stays with the agent; a fork that another one replaced is deleted.
        if self.state.forks.contains(&before) {
            self.delete(before);
        }
        if let Some(known) = self.sessions.get_mut(&session) {
            known.entries += 1;
            known.offer = None;
        }
        if !self.queued_requests.iter().any(|waiting| waiting.is_prompt) {
            self.turn_ended(&session);
        }
        self.write_ledger(&session);
    }

    /// The work cannot be taken, so the prompt goes to the agent as if nothing had run ahead.
    pub(super) fn run_without_work(&mut self, session: &str, accepting: &AcceptingPrompt, why: &str) {
        if 0 < accepting.shown {
            self.say(session, &format!("What ran ahead is not taken ({why}); nothing of it was written, and the prompt runs anew.\n\n"));
        }
        self.forget_offer(session);
        self.send_prompt(&accepting.prompt);
    }

    fn send_prompt(&mut self, prompt: &Value) {
        self.expect_answer(prompt, Some(prompt.clone()));
        self.pass_to_agent(&message::line(prompt));
    }

    /// The user cancels. Returns whether a prompt that takes work was cancelled (the one with this id, if one is
    /// given), which the agent does not know.
    pub(super) fn cancel(&mut self, id: &str, request: Option<&Value>) -> bool {
        let is_meant = |waiting: &QueuedRequest| {
            waiting.is_prompt && waiting.session == id && request.is_none_or(|request| waiting.id == *request)
        };
        let (stopped, waiting): (VecDeque<_>, VecDeque<_>) =
            self.queued_requests.drain(..).partition(is_meant);
        self.queued_requests = waiting;
        for waiting in &stopped {
            self.send_to_editor(&message::result(&waiting.id, &json!({ "stopReason": "cancelled" })));
        }
        if request.is_some() && !stopped.is_empty() {
            return true;
        }
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.session == id) else { return false };
        let Some(accepting) =
            ahead.accepting.take_if(|accepting| request.is_none_or(|id| accepting.prompt["id"] == *id))
        else {
            return false;
        };
        if accepting.is_committing {
            // The commit takes only a moment, so it is completed.
            ahead.accepting = Some(accepting);
            return true;
        }
        self.note_cost(Status::Aborted);
        self.note_outcome(Outcome::Aborted, 0);
        self.end_ahead();
        self.forget_offer(id);
        self.send_to_editor(&message::result(&accepting.prompt["id"], &json!({ "stopReason": "cancelled" })));
        self.write_ledger(id);
        true
    }

    /// The user does not want the suggestion of this session.
    pub(super) fn discard_work_in(&mut self, id: &str, outcome: Outcome) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.session == id) {
            return self.discard_work(outcome);
        }
        if self.sessions.get(id).is_some_and(|session| session.offer.is_some()) {
            self.decided(id, outcome);
            self.withdraw_offer(id);
            self.forget_offer(id);
            self.write_ledger(id);
        }
    }

    /// The same for the session that the second agent works for.
    pub(super) fn discard_work(&mut self, outcome: Outcome) {
        let Some(session) = self.ahead.as_ref().map(|ahead| ahead.session.clone()) else { return };
        if self.is_committing() {
            // The commit takes only a moment, so it is completed.
            return;
        }
        let has_work = self.ahead.as_ref().is_some_and(|ahead| ahead.status_words().is_some());
        if let Some(accepting) = self.ahead.as_mut().and_then(|ahead| ahead.accepting.take()) {
            self.run_without_work(&session, &accepting, "it was given up");
        }
        self.note_cost(Status::Aborted);
        if has_work {
            self.note_outcome(outcome, 0);
        }
        self.end_ahead();
        if self.sessions.get(&session).is_some_and(|known| known.offer.is_some()) {
            self.withdraw_offer(&session);
            self.forget_offer(&session);
        }
        self.write_ledger(&session);
    }

    pub(super) fn end_work_of(&mut self, id: &str) {
        self.discard_work_in(id, Outcome::Aborted);
    }

    fn forget_offer(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.offer = None;
        }
    }

    /// Withdraws the suggestion in the editor. The work for it may go on.
    fn withdraw_offer(&mut self, id: &str) {
        let offer = self.sessions.get_mut(id).and_then(|session| session.offer.take());
        self.tell_offer(id);
        if let Some(session) = self.sessions.get_mut(id) {
            session.offer = offer;
        }
    }

    /// Records the outcome of a suggestion that did not run.
    fn decided(&mut self, id: &str, outcome: Outcome) {
        let now = self.host.now();
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let (Some(project), Some(offered)) = (&mut session.project, &session.offer) {
            project.metering.record_decision(now, &offered.id, outcome);
        }
    }

    fn note_outcome(&mut self, outcome: Outcome, saved_ms: u64) {
        let Some(ahead) = self.ahead.take() else { return };
        let session = ahead.session.clone();
        self.note_outcome_for(&session, outcome, saved_ms, &ahead);
        self.ahead = Some(ahead);
    }

    /// Records the outcome of work that ran.
    fn note_outcome_for(&mut self, id: &str, outcome: Outcome, saved_ms: u64, ahead: &WorkAhead) {
        let now = self.host.now();
        let Some(session) = self.sessions.get_mut(id) else { return };
        let changes = (outcome.is_hit() && !ahead.changes.is_empty()).then(|| ahead.changes.digest());
        if let (Some(project), Some(offered)) = (&mut session.project, &session.offer) {
            project.metering.record_foreign_outcome(now, &offered.id, outcome, saved_ms, changes);
        }
    }

    /// Shows a text of this program in the session.
    fn say(&mut self, session: &str, text: &str) {
        let update =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
        self.send_to_editor(&message::update(session, &update));
    }
}
