use std::future::pending;
use std::time::Instant;

use headstart_followup_state::{Effect, Event as Followup, RequestId, Suggestion};
use headstart_speculation::Speculation;
use headstart_speculation::ledger::Outcome;
use tokio::task::JoinHandle;

use super::Chat;
use super::ahead::Ahead;
use super::books::{Account, new_id};
use super::offer::Offers;
use crate::clerk::QueryCost;

/// A question for a suggestion, its answer still to come. Dropped, it is not asked any longer and costs no more.
pub(super) struct Asked {
    task: JoinHandle<(RequestId, Answer)>,
    /// The accepted work that asks by itself what comes after it.
    asks: Option<Speculation>,
}

/// The answer, and what it cost.
pub(super) struct Answer {
    suggestion: Result<Suggestion, String>,
    cost: QueryCost,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(speculation) = &self.asks {
            speculation.abort();
        }
    }
}

/// The answer, once.
pub(super) async fn answered(asked: &mut Option<Asked>) -> (RequestId, Answer) {
    let Some(waiting) = asked else { return pending().await };
    let answer = (&mut waiting.task).await;
    *asked = None;
    match answer {
        Ok(answer) => answer,
        // The query panicked: there is no suggestion, and nothing else is wrong.
        Err(_) => pending().await,
    }
}

impl Chat {
    /// Asks for a suggestion, in the background; not while the user is typing the next prompt already.
    pub(super) fn ask_for_suggestion(&mut self) {
        if !self.controller.is_enabled() || self.is_typing() || self.books.ask().is_err() {
            return;
        }
        let request = self.next_request();
        let query = self.session.suggestion_query();
        let asked = Instant::now();
        let task = tokio::spawn(async move {
            let guess = query.await;
            let work_ms = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
            let cost = QueryCost { tokens: guess.tokens, work_ms, dropped: false };
            (request, Answer { suggestion: guess.suggestion, cost })
        });
        self.asked = Some(Asked { task, asks: None });
    }

    /// The suggestion after accepted work: it is there already, or on its way.
    pub(super) fn await_next(&mut self, speculation: Speculation, account: Account) {
        if !self.controller.is_enabled() {
            return speculation.abort();
        }
        let request = self.next_request();
        let asks = Some(speculation.clone());
        let task = tokio::spawn(async move {
            let next = speculation.next().await;
            let cost = QueryCost { tokens: account.spent_since(&speculation), ..QueryCost::default() };
            (request, Answer { suggestion: next.ok_or_else(|| "empty".to_owned()), cost })
        });
        self.asked = Some(Asked { task, asks });
    }

    pub(super) fn on_suggestion(&mut self, request: RequestId, answer: Answer) {
        let Answer { suggestion, cost } = answer;
        let text = suggestion.as_ref().ok().map(|suggestion| suggestion.as_str().to_owned());
        let suggestion = match suggestion {
            Ok(_) if self.is_typing() => Err("typing".to_owned()),
            Ok(suggestion) => match self.books.show(suggestion.as_str()) {
                Ok(()) => Ok(suggestion),
                Err(hold) => Err(hold.code().to_owned()),
            },
            Err(reason) => Err(reason),
        };
        let id = new_id(request.0);
        let reason = suggestion.as_ref().err().map(String::as_str);
        // These two are found out without asking the model.
        if !matches!(reason, Some("early_conversation" | "plan_mode")) {
            self.books.suggested(&id, text.as_deref(), cost, reason);
        }
        match suggestion {
            Ok(suggestion) => {
                self.incoming = Offers::new([(id, suggestion.clone())]);
                self.followup(Followup::Suggested { request, suggestion: Some(suggestion) });
            }
            Err(reason) => self.followup(Followup::Suppressed { request, reason }),
        }
        // The controller had no use for it: it is late, or the same as the one that is there.
        for (unused, outcome) in self.incoming.give_up(Outcome::Aborted) {
            self.books.decided(&unused.id, outcome);
        }
    }

    /// What became of the suggestion if the user does something else now.
    pub(super) fn fate(&self) -> Outcome {
        if self.inserted || self.controller.visible().is_some() {
            Outcome::Ignored
        } else {
            Outcome::Replaced
        }
    }

    /// Gives a question for a suggestion up. Its answer would have cost something that nobody says.
    pub(super) fn drop_asked(&mut self) {
        if let Some(asked) = self.asked.take()
            && !asked.task.is_finished()
        {
            let cost = QueryCost { dropped: true, ..QueryCost::default() };
            self.books.suggested("", None, cost, Some("dropped"));
        }
    }

    /// Text in the prompt gives the suggestion and the work ahead up, unless it is the suggestion, or a command: that
    /// may be about them.
    pub(super) fn on_edited(&mut self, typed: bool) {
        let typing = self.is_typing();
        if typed && typing {
            self.drop_asked();
        }
        self.followup(Followup::Keystroke { typed: typed && typing });
        let text = self.editor.text();
        if self.inserted && self.offers.get(text).is_none() {
            self.settle(Outcome::Ignored);
        }
        self.show_ghost();
    }

    /// Shows the suggestion again, where there is one, once the prompt is empty.
    pub(super) fn show_ghost(&mut self) {
        let ghost = self.controller.visible().map(|suggestion| suggestion.as_str().to_owned());
        self.editor.set_ghost(ghost);
    }

    /// Tells the controller, and does what it asks for.
    pub(super) fn followup(&mut self, event: Followup) {
        let now = self.now();
        let fate = match event {
            Followup::Dismiss | Followup::Keystroke { .. } => self.fate(),
            Followup::Suggested { .. } => Outcome::Replaced,
            _ => Outcome::Aborted,
        };
        for effect in self.controller.handle(now, event) {
            match effect {
                Effect::Show { suggestion } => {
                    self.offers.saw(suggestion.as_str());
                    self.show_ghost();
                }
                Effect::Hide => self.show_ghost(),
                Effect::Insert { text } => {
                    self.editor.insert(&text);
                    self.inserted = !self.offers.is_empty();
                }
                Effect::WakeAt { at } => self.wake_at = Some(at),
                Effect::Record { outcome } => self.ledger.record(&outcome),
                Effect::StartSpeculation { suggestion } => self.start_ahead(&suggestion),
                Effect::AbandonSpeculation => self.settle(fate),
                _ => {}
            }
        }
    }

    fn start_ahead(&mut self, suggestion: &Suggestion) {
        self.settle(Outcome::Replaced);
        self.offers = std::mem::take(&mut self.incoming);
        if !self.settings.speculation {
            return;
        }
        let Some(offer) = self.offers.get_mut(suggestion.as_str()) else { return };
        let Ok(allowance) = self.books.run(suggestion.as_str()) else { return };
        // A slash command is never run ahead; that is no error.
        let started = self.session.speculate(offer.id.clone(), suggestion.as_str(), Some(allowance));
        offer.work = started.ok().map(|(speculation, events)| Ahead::new(speculation, events));
    }

    /// Whether the prompt holds words for the model.
    fn is_typing(&self) -> bool {
        let text = self.editor.text();
        !text.is_empty() && !text.starts_with('/')
    }

    fn next_request(&mut self) -> RequestId {
        self.request += 1;
        let request = RequestId(self.request);
        self.followup(Followup::Requested { request });
        request
    }

    /// The controller's clock.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
