//! A prompt that takes the suggestion together with the work that was done for it. Nothing here does IO.

use headstart_budget::ledger::Outcome;
use headstart_followup_state::filter;
use headstart_overlay_fs::CommitOutcome;
use headstart_speculation::Status;
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;

use super::ahead::{Ahead, Phase};
use super::{Effect, Own, Proxy};
use crate::hosts::acp::updates::diffs;
use crate::hosts::proxy::kept::{Change, Taking};
use crate::hosts::proxy::message;

const TAKE: &str = "/next";

/// A prompt that waits for the work that it takes.
#[expect(clippy::struct_excessive_bools, reason = "each may hold without the others")]
pub(super) struct Taken {
    /// The prompt, with the suggestion as its text.
    prompt: Value,
    /// Whether the user is shown the work so far and everything that follows.
    pub(super) is_shown: bool,
    /// The number of updates that were shown.
    shown: usize,
    /// The id of the last question that the user was asked, and its subject.
    asked: Option<(String, About)>,
    is_agreed: bool,
    is_committing: bool,
    /// Whether the work was still going on when it was taken.
    joined: bool,
}

/// A prompt that arrived while the one before it takes work.
pub(super) struct Waiting {
    session: String,
    id: Value,
    /// The unchanged line.
    line: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// One call of the second agent.
    Call,
    /// All changes together.
    Changes,
}

impl Proxy {
    /// Whether the user waits for work that they took.
    pub(super) fn is_taking(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.taken.is_some())
    }

    pub(super) fn is_committing(&self) -> bool {
        let taken = self.ahead.as_ref().and_then(|ahead| ahead.taken.as_ref());
        taken.is_some_and(|taken| taken.is_committing)
    }

    fn is_taking_in(&self, session: &str) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.taken.is_some() && ahead.session == session)
    }

    /// Whether a request is a prompt that has to wait for the one before it, which the agent does not know yet.
    pub(crate) fn waits(&mut self, request: &Value, line: &[u8]) -> bool {
        let session = message::session(request).unwrap_or_default();
        let waits = message::method(request) == "session/prompt" && self.is_taking_in(session);
        if waits {
            let session = session.to_owned();
            self.waiting.push_back(Waiting { session, id: request["id"].clone(), line: line.to_vec() });
        }
        waits
    }

    /// Handles the waiting prompts in order, once nothing is being taken in their sessions.
    pub(super) fn go_on_with_waiting(&mut self) {
        let free =
            |proxy: &Self| proxy.waiting.iter().position(|waiting| !proxy.is_taking_in(&waiting.session));
        while let Some(waiting) = free(self).and_then(|at| self.waiting.remove(at)) {
            self.editor(&waiting.line);
        }
    }

    /// The ids of prompts that this program has to answer, for a caller that can only refuse them.
    pub(super) fn take_unanswered(&mut self) -> Vec<Value> {
        let taken = self.ahead.as_mut().and_then(|ahead| ahead.taken.take());
        let waiting = self.waiting.drain(..).map(|waiting| waiting.id);
        taken.map(|taken| taken.prompt["id"].clone()).into_iter().chain(waiting).collect()
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
            self.give_up_in(id, Outcome::Ignored);
            return false;
        }
        let prompt = message::with_words(prompt, &text);
        let has_work = self.ahead.as_ref().is_some_and(|ahead| ahead.session == id && ahead.told().is_some());
        if !has_work {
            self.decided(id, Outcome::Accepted);
            self.forget_offer(id);
            self.prompt_anew(&prompt);
            return true;
        }
        let Some(ahead) = &mut self.ahead else { return false };
        ahead.taken = Some(Taken {
            prompt,
            is_shown: false,
            shown: 0,
            asked: None,
            is_agreed: false,
            is_committing: false,
            joined: !ahead.is_adopted(),
        });
        self.take_back_offer(id);
        self.go_on_taking();
        true
    }

    fn switch(&mut self, id: &str, prompt: &Value, off: bool) {
        if off {
            self.give_up_in(id, Outcome::Aborted);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.is_off = off;
        }
        let said = if off {
            "Nothing runs ahead in this session."
        } else {
            "After a turn its next prompt is suggested and run ahead."
        };
        self.say(id, said);
        self.tell(&message::result(&prompt["id"], &json!({ "stopReason": "end_turn" })));
    }

    /// Takes the next step for a prompt that takes work.
    pub(super) fn go_on_taking(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(taken) = &mut ahead.taken else { return };
        match ahead.phase {
            Phase::Working => {
                if let Some((_, boundary)) =
                    ahead.questions.iter().find(|(_, boundary)| !boundary.holds_in_view)
                {
                    let why = boundary.why.clone();
                    return self.drop_work(&why);
                }
                taken.is_shown = true;
                self.show_updates();
                self.ask_editor();
            }
            Phase::Freezing | Phase::Adopting | Phase::Preparing => {}
            Phase::Ready if taken.is_committing || taken.asked.is_some() => {}
            Phase::Ready => self.agree_or_commit(),
        }
    }

    /// Shows the updates of the work that were not shown yet, under the session's id in the editor.
    pub(super) fn show_updates(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(taken) = &mut ahead.taken else { return };
        let from = std::mem::replace(&mut taken.shown, ahead.updates.len());
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
        let (session, Some(taken)) = (ahead.session.clone(), &mut ahead.taken) else { return };
        let Some((question, boundary)) = ahead.questions.front().filter(|_| taken.asked.is_none()) else {
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
        taken.asked = Some((id.clone(), About::Call));
        self.tell(&message::request(&id, "session/request_permission", &params));
    }

    pub(super) fn answered_by_editor(&mut self, id: &str, answer: &Value) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(taken) = &mut ahead.taken else { return };
        let Some((_, about)) = taken.asked.take_if(|(asked, _)| asked == id) else { return };
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let result = answer.get("result").cloned().unwrap_or(cancelled);
        match about {
            About::Call => {
                let Some((question, _)) = ahead.questions.pop_front() else { return };
                let answer = message::result(&question["id"], &result);
                self.effects.push(Effect::ToSecond(message::line(&answer)));
                self.ask_editor();
            }
            About::Changes if result["outcome"]["optionId"] == "write" => {
                taken.is_agreed = true;
                self.go_on_taking();
            }
            About::Changes => self.refused(),
        }
    }

    /// The user does not want the changes.
    fn refused(&mut self) {
        let Some(taken) = self.ahead.as_mut().and_then(|ahead| ahead.taken.take()) else { return };
        let Some(session) = self.ahead.as_ref().map(|ahead| ahead.session.clone()) else { return };
        self.settled(Outcome::Aborted, 0);
        self.end_ahead();
        self.forget_offer(&session);
        self.say(&session, "Nothing was written.");
        self.tell(&message::result(&taken.prompt["id"], &json!({ "stopReason": "end_turn" })));
        self.write_down(&session);
    }

    fn agree_or_commit(&mut self) {
        let id = self.own_id();
        let row = self.row;
        let Some(ahead) = &mut self.ahead else { return };
        let Some(session) = self.sessions.get(&ahead.session) else { return };
        let Some(taken) = &mut ahead.taken else { return };
        let asks = session.project.as_ref().is_none_or(|project| project.mode == ApprovalMode::Default);
        let edits =
            session.mode.as_deref().is_some_and(|mode| row.is_some_and(|row| row.edits_in.contains(&mode)));
        if ahead.changes.is_empty() || taken.is_agreed || !asks || edits {
            taken.is_committing = true;
            let (folder, changes) = (session.folder.clone(), ahead.changes.clone());
            let taking = Taking {
                session: ahead.session.clone(),
                folder: folder.clone(),
                changes: changes.digest(),
                by: self.host.process(),
            };
            let note = Change::Taking(ahead.fork.clone().unwrap_or_default(), taking);
            self.kept.apply(&note);
            return self.effects.push(Effect::Commit { number: ahead.number, folder, changes, note });
        }
        let folder = Path::new(&session.folder);
        let paths = ahead.changes.summary();
        let places: Vec<Value> =
            paths.iter().map(|row| json!({ "path": folder.join(row.path.to_string()) })).collect();
        let title =
            format!("Take what ran ahead: {}", crate::conversation::words::counted(paths.len(), "file"));
        let call = json!({
            "toolCallId": format!("{id}-changes"), "title": title, "kind": "edit", "status": "pending",
            "locations": places, "content": diffs(&ahead.changes, folder),
        });
        let options = json!([
            { "optionId": "write", "name": "Write these changes", "kind": "allow_once" },
            { "optionId": "drop", "name": "Drop them", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": ahead.session, "toolCall": call, "options": options });
        taken.asked = Some((id.clone(), About::Changes));
        self.tell(&message::request(&id, "session/request_permission", &params));
    }

    /// The changes were committed, or could not be.
    pub(crate) fn committed(&mut self, number: u64, outcome: Result<CommitOutcome, String>) {
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.number == number) else { return };
        match outcome {
            Ok(CommitOutcome::Committed(_)) => self.is_taken(),
            Ok(CommitOutcome::Conflict(_)) => {
                let taken = ahead.taken.take();
                let session = ahead.session.clone();
                self.not_taken();
                self.settled(Outcome::Conflict, 0);
                self.end_ahead();
                if let Some(taken) = taken {
                    self.run_anew(&session, &taken, "files that it rests on were changed meanwhile");
                }
                self.write_down(&session);
            }
            Err(why) => {
                self.not_taken();
                self.drop_work(&why);
            }
        }
    }

    fn not_taken(&mut self) {
        if let Some(fork) = self.ahead.as_ref().and_then(|ahead| ahead.fork.clone()) {
            self.keep(Change::NotTaken(fork));
        }
    }

    fn is_taken(&mut self) {
        self.show_updates();
        let Some(mut ahead) = self.ahead.take() else { return };
        let Some(taken) = ahead.taken.take() else { return };
        let (session, Some(fork)) = (ahead.session.clone(), ahead.fork.take()) else { return };
        let before = self.agents_name(&session);
        self.keep(Change::Taken { session: session.clone(), fork });
        self.tell(&message::result(&taken.prompt["id"], &ahead.result.clone()));
        let (outcome, saved) =
            if taken.joined { (Outcome::Joined, 0) } else { (Outcome::Accepted, ahead.worked_ms) };
        self.effects.push(Effect::End { number: ahead.number });
        self.settled_for(&session, outcome, saved, &ahead);
        if self.can.close {
            self.ask_agent("session/close", &json!({ "sessionId": before }), Own::Other);
        }
        // The session that the user knew stays with the agent; a fork that another one replaced is deleted.
        if self.kept.forks.contains(&before) {
            self.delete(before);
        }
        if let Some(known) = self.sessions.get_mut(&session) {
            known.entries += 1;
            known.offer = None;
        }
        if self.waiting.is_empty() {
            self.turn_ended(&session);
        }
        self.write_down(&session);
    }

    /// The work cannot be taken, so the prompt goes to the agent as if nothing had run ahead.
    pub(super) fn run_anew(&mut self, session: &str, taken: &Taken, why: &str) {
        if 0 < taken.shown {
            self.say(session, &format!("What ran ahead is not taken ({why}); nothing of it was written, and the prompt runs anew.\n\n"));
        }
        self.forget_offer(session);
        self.prompt_anew(&taken.prompt);
    }

    fn prompt_anew(&mut self, prompt: &Value) {
        self.expect_answer(prompt, Some(prompt.clone()));
        self.pass_to_agent(&message::line(prompt));
    }

    /// The user cancels. Returns whether a prompt that takes work was cancelled (the one with this id, if one is
    /// given), which the agent does not know.
    pub(super) fn cancel(&mut self, id: &str, request: Option<&Value>) -> bool {
        let is_meant =
            |waiting: &Waiting| waiting.session == id && request.is_none_or(|request| waiting.id == *request);
        let (stopped, waiting): (VecDeque<_>, VecDeque<_>) = self.waiting.drain(..).partition(is_meant);
        self.waiting = waiting;
        for waiting in &stopped {
            self.tell(&message::result(&waiting.id, &json!({ "stopReason": "cancelled" })));
        }
        if request.is_some() && !stopped.is_empty() {
            return true;
        }
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.session == id) else { return false };
        let Some(taken) = ahead.taken.take_if(|taken| request.is_none_or(|id| taken.prompt["id"] == *id))
        else {
            return false;
        };
        if taken.is_committing {
            // The commit takes only a moment, so it is completed.
            ahead.taken = Some(taken);
            return true;
        }
        self.note_cost(Status::Aborted);
        self.settled(Outcome::Aborted, 0);
        self.end_ahead();
        self.forget_offer(id);
        self.tell(&message::result(&taken.prompt["id"], &json!({ "stopReason": "cancelled" })));
        self.write_down(id);
        true
    }

    /// The user does not want the suggestion of this session.
    pub(super) fn give_up_in(&mut self, id: &str, outcome: Outcome) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.session == id) {
            return self.give_up(outcome);
        }
        if self.sessions.get(id).is_some_and(|session| session.offer.is_some()) {
            self.decided(id, outcome);
            self.take_back_offer(id);
            self.forget_offer(id);
            self.write_down(id);
        }
    }

    /// The same for the session that the second agent works for.
    pub(super) fn give_up(&mut self, outcome: Outcome) {
        let Some(session) = self.ahead.as_ref().map(|ahead| ahead.session.clone()) else { return };
        if self.is_committing() {
            // The commit takes only a moment, so it is completed.
            return;
        }
        let has_work = self.ahead.as_ref().is_some_and(|ahead| ahead.told().is_some());
        if let Some(taken) = self.ahead.as_mut().and_then(|ahead| ahead.taken.take()) {
            self.run_anew(&session, &taken, "it was given up");
        }
        self.note_cost(Status::Aborted);
        if has_work {
            self.settled(outcome, 0);
        }
        self.end_ahead();
        if self.sessions.get(&session).is_some_and(|known| known.offer.is_some()) {
            self.take_back_offer(&session);
            self.forget_offer(&session);
        }
        self.write_down(&session);
    }

    pub(super) fn forget_ahead_of(&mut self, id: &str) {
        self.give_up_in(id, Outcome::Aborted);
    }

    fn forget_offer(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.offer = None;
        }
    }

    /// Withdraws the suggestion in the editor. The work for it may go on.
    fn take_back_offer(&mut self, id: &str) {
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

    fn settled(&mut self, outcome: Outcome, saved_ms: u64) {
        let Some(ahead) = self.ahead.take() else { return };
        let session = ahead.session.clone();
        self.settled_for(&session, outcome, saved_ms, &ahead);
        self.ahead = Some(ahead);
    }

    /// Records the outcome of work that ran.
    fn settled_for(&mut self, id: &str, outcome: Outcome, saved_ms: u64, ahead: &Ahead) {
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
        self.tell(&message::update(session, &update));
    }
}
