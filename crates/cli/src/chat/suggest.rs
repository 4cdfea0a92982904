use std::future::pending;

use headstart_followup_state::{Effect, Event as Followup, RequestId, Suggestion};
use headstart_speculation::Speculation;
use tokio::task::JoinHandle;

use super::Chat;
use super::ahead::Ahead;

/// A question for a suggestion, its answer still to come. Dropped, it is not asked any longer and costs no more.
pub(super) struct Asked {
    task: JoinHandle<(RequestId, Result<Suggestion, String>)>,
    /// The accepted work that asks by itself what comes after it.
    asks: Option<Speculation>,
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
pub(super) async fn answered(asked: &mut Option<Asked>) -> (RequestId, Result<Suggestion, String>) {
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
        if !self.controller.is_enabled() || self.is_typing() {
            return;
        }
        let request = self.next_request();
        let query = self.session.suggestion_query();
        let task = tokio::spawn(async move { (request, query.await) });
        self.asked = Some(Asked { task, asks: None });
    }

    /// The suggestion after accepted work: it is there already, or on its way.
    pub(super) fn await_next(&mut self, speculation: Speculation) {
        if !self.controller.is_enabled() {
            return speculation.abort();
        }
        let request = self.next_request();
        let asks = Some(speculation.clone());
        let task = tokio::spawn(async move {
            let next = speculation.next().await;
            (request, next.ok_or_else(|| "empty".to_owned()))
        });
        self.asked = Some(Asked { task, asks });
    }

    pub(super) fn on_suggestion(&mut self, request: RequestId, answer: Result<Suggestion, String>) {
        let answer = if self.is_typing() { Err("typing".to_owned()) } else { answer };
        self.followup(match answer {
            Ok(suggestion) => Followup::Suggested { request, suggestion: Some(suggestion) },
            Err(reason) => Followup::Suppressed { request, reason },
        });
    }

    /// Text in the prompt gives the suggestion and the work ahead up, unless it is the suggestion, or a command: that
    /// may be about them.
    pub(super) fn on_edited(&mut self, typed: bool) {
        let typing = self.is_typing();
        if typed && typing {
            self.asked = None;
        }
        self.followup(Followup::Keystroke { typed: typed && typing });
        let text = self.editor.text();
        if self.ahead.as_ref().is_some_and(|ahead| ahead.inserted && !ahead.is_for(text)) {
            self.drop_ahead();
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
        for effect in self.controller.handle(now, event) {
            match effect {
                Effect::Show { .. } | Effect::Hide => self.show_ghost(),
                Effect::Insert { text } => {
                    self.editor.insert(&text);
                    if let Some(ahead) = &mut self.ahead {
                        ahead.inserted = true;
                    }
                }
                Effect::WakeAt { at } => self.wake_at = Some(at),
                Effect::Record { outcome } => self.ledger.record(&outcome),
                Effect::StartSpeculation { suggestion } => self.start_ahead(&suggestion),
                Effect::AbandonSpeculation => self.drop_ahead(),
                _ => {}
            }
        }
    }

    fn start_ahead(&mut self, suggestion: &Suggestion) {
        self.drop_ahead();
        if !self.settings.speculation {
            return;
        }
        self.request += 1;
        let id = format!("chat-{}", self.request);
        // A slash command is never run ahead; that is no error.
        if let Ok((speculation, events)) = self.session.speculate(id, suggestion.as_str()) {
            self.ahead = Some(Ahead::new(speculation, events));
        }
    }

    pub(super) fn drop_ahead(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            ahead.speculation.abort();
        }
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
