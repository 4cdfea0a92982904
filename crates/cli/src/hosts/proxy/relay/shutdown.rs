//! What happens when the editor or the agent ends. Nothing here does IO.

use headstart_budget::ledger::Outcome;
use serde_json::Value;

use super::{Effect, PendingRequest, Proxy};
use crate::hosts::proxy::message::{self, MessageKind};

impl Proxy {
    /// The agent has ended: answers all open requests with the reason.
    pub(crate) fn agent_ended(&mut self, why: &str) {
        let waiting: Vec<PendingRequest> = self.pending.drain().map(|(_, pending)| pending).collect();
        for pending in waiting {
            self.send_to_editor(&message::error(&pending.id, -32603, why));
        }
        self.end_ahead();
    }

    /// Answers a request that the editor sends after the agent's end. Returns whether the line was a request.
    pub(crate) fn refuse(&mut self, line: &[u8], why: &str) -> bool {
        let request = serde_json::from_slice::<Value>(line).ok();
        let request = request.filter(|message| message::kind(message) == MessageKind::Request);
        if let Some(request) = &request {
            self.send_to_editor(&message::error(&request["id"], -32603, why));
        }
        request.is_some()
    }

    /// The editor or the agent ends, and nothing new begins. Returns whether something must be waited for: a commit, or
    /// the name of a fork, because a fork without a note of it would be shown to the user.
    pub(crate) fn shuts_down_later(&mut self) -> bool {
        self.unfit.get_or_insert_with(|| "its editor goes".to_owned());
        self.is_committing() || self.is_forking()
    }

    /// Gives up the work that runs ahead.
    pub(crate) fn shut_down(&mut self) {
        let is_committing = self.is_committing();
        for id in self.take_unanswered() {
            let pending = PendingRequest { id, method: String::new(), request: None };
            self.pending.insert(pending.id.to_string(), pending);
        }
        if is_committing && let Some(ahead) = self.ahead.take() {
            // The next start finds out whether the commit was made.
            self.effects.push(Effect::End { number: ahead.number });
        }
        match self.ahead.as_ref().map(|ahead| ahead.session.clone()) {
            Some(session) => self.discard_work_in(&session, Outcome::Aborted),
            None => {
                for session in self.sessions.keys().cloned().collect::<Vec<_>>() {
                    self.discard_work_in(&session, Outcome::Aborted);
                }
            }
        }
    }
}
