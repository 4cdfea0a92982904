use std::future::pending;
use std::time::Instant;

use headstart_budget::ledger::Outcome;
use headstart_budget::{Metering, NotShown, QueryCost, RunMeter};
use headstart_followup_state::{
    Config, Effect, Effects, Event as Followup, MAX_CANDIDATES, RequestId, Suggestion, Suggestions,
};
use headstart_forked_query::ModelError;
use headstart_speculation::Speculation;
use tokio::task::JoinHandle;

use super::Chat;
use super::accounts::new_id;
use super::ahead::Ahead;
use super::offer::Offers;
use crate::error::CliError;
use crate::session::NoGuess;
use crate::terminal::{Ghost, Style};

/// A question for a suggestion, its answer still to come. Dropped, it is not asked any longer and costs no more.
pub(super) struct Asked {
    task: JoinHandle<(RequestId, Answer)>,
    /// The accepted work that asks by itself what comes after it.
    asks: Option<Speculation>,
    /// The next step, on top of that work.
    above: Option<Box<Ahead>>,
}

/// The answer, best first and never empty, and what it cost.
pub(super) struct Answer {
    suggestions: Result<Suggestions, NoGuess>,
    cost: QueryCost,
    /// The suggestion as it runs already, on top of the work that was accepted.
    above: Option<Box<Ahead>>,
}

impl Asked {
    /// The accepted work after which it is asked.
    pub(super) fn after(&self) -> Option<&Speculation> {
        self.asks.as_ref()
    }
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
    let answered = asked.take();
    match (answer, answered) {
        (Ok((request, mut answer)), Some(mut asked)) => {
            // The step that runs already is no part of what is dropped with the question.
            asked.asks = None;
            answer.above = asked.above.take().or(answer.above);
            (request, answer)
        }
        // The query panicked: there is no suggestion, and nothing else is wrong.
        _ => pending().await,
    }
}

impl Chat {
    /// Asks for a suggestion, in the background; not while the user is typing the next prompt already.
    pub(super) fn ask_for_suggestion(&mut self) -> Result<(), CliError> {
        if !self.controller.is_enabled() || self.is_typing() {
            return Ok(());
        }
        if let Err(hold) = self.accounts.ask() {
            return self.tell_of_hold(hold);
        }
        let left_out = self.session.left_out_ahead();
        self.accounts.meter(|metering, now| metering.left_out(now, true, left_out));
        let request = self.next_request();
        let query = self.session.suggestion_query(self.settings.candidates);
        let asked = Instant::now();
        let task = tokio::spawn(async move {
            let guess = query.await;
            let work_ms = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
            let cost = QueryCost { tokens: guess.tokens, work_ms, dropped: false };
            (request, Answer { suggestions: guess.suggestions, cost, above: None })
        });
        self.asked = Some(Asked { task, asks: None, above: None });
        Ok(())
    }

    /// The suggestion after accepted work: it is there already, or on its way.
    pub(super) fn await_next(
        &mut self,
        speculation: Speculation,
        meter: RunMeter,
        above: Option<Box<Ahead>>,
    ) {
        if !self.controller.is_enabled() {
            self.close_steps(&speculation, above);
            return speculation.abort();
        }
        let request = self.next_request();
        let asks = Some(speculation.clone());
        let task = tokio::spawn(async move {
            let next = speculation.next().await;
            let cost = QueryCost { tokens: meter.spent_since(&speculation), ..QueryCost::default() };
            let suggestions = match next {
                Some(suggestions) => Ok(suggestions),
                None => Err(speculation.no_next().map_or_else(|| NoGuess::because("empty"), NoGuess::from)),
            };
            let above = speculation.above().await.map(Ahead::of_step);
            (request, Answer { suggestions, cost, above })
        });
        self.asked = Some(Asked { task, asks, above });
    }

    pub(super) fn on_suggestion(&mut self, request: RequestId, answer: Answer) -> Result<(), CliError> {
        let Answer { suggestions, cost, above } = answer;
        let above = above.and_then(|above| self.unless_aborted(above));
        let best = suggestions.as_ref().ok().map(|all| all.best().clone());
        let shown = match suggestions {
            Ok(_) if self.is_typing() => Err(NoGuess::because("typing")),
            suggestions => suggestions,
        };
        let ids = ids_of(request, &shown, above.as_deref());
        let not_shown = shown.as_ref().err();
        // These two are found out without asking the model.
        if !not_shown.is_some_and(|none| matches!(&*none.reason, "early_conversation" | "plan_mode")) {
            let text = best.as_ref().map(Suggestion::as_str);
            let reason = not_shown.map(|none| NotShown { reason: &none.reason, error: none.error.as_ref() });
            self.accounts.meter(|metering, now| metering.suggested(now, &ids[0], text, cost, reason));
        }
        match shown {
            Ok(suggestions) => {
                for (id, further) in ids.iter().zip(suggestions.iter()).skip(1) {
                    let (text, first) = (further.as_str(), &ids[0]);
                    self.accounts.meter(|metering, now| metering.candidate(now, id, text, first));
                }
                self.incoming = Offers::new(ids.into_iter().zip(suggestions.iter().cloned()));
                let is_ready = self.adopt(above);
                // With the next step there already nothing flickers: it shows as if it had come before.
                let waited = if is_ready { Config::default().show_delay_ms } else { 0 };
                self.followup_at(
                    self.now().saturating_sub(waited),
                    Followup::suggested(request, suggestions),
                );
                self.followup(Followup::Wake);
            }
            Err(NoGuess { reason, error }) => {
                self.adopt(above);
                self.followup(Followup::Suppressed { request, reason });
                let is_new = |error: &ModelError| {
                    self.accounts.meter(|metering, _| metering.should_report_error(error))
                };
                if let Some(error) = error.filter(is_new) {
                    self.face.say(&format!("no suggestion: {error}"), Style::Dim)?;
                }
            }
        }
        // The controller had no use for it: it is late, or the same as the one that is there.
        let unused = self.incoming.give_up(Outcome::Aborted);
        self.close(unused);
        Ok(())
    }

    /// What became of the suggestion if the user does something else now.
    pub(super) fn fate(&self) -> Outcome {
        if self.controller.is_on_offer() { Outcome::Ignored } else { Outcome::Replaced }
    }

    /// Gives a question for a suggestion up. Its answer would have cost something that nobody says.
    pub(super) fn drop_asked(&mut self) {
        let Some(mut asked) = self.asked.take() else { return };
        if let Some(accepted) = &asked.asks {
            self.close_steps(accepted, asked.above.take());
        }
        if !asked.task.is_finished() {
            self.accounts.meter(Metering::query_dropped);
        }
    }

    /// Text in the prompt gives the suggestions and the work ahead up, unless one of them begins with it; or it is a command:
    /// that may be about them; or it comes from the history: that may go again.
    pub(super) fn on_edited(&mut self, typed: bool) {
        let typing = self.is_typing();
        if typed && typing {
            self.drop_asked();
        }
        let text = self.editor.text().to_owned();
        let goes_with_it = self
            .offers
            .iter()
            .any(|offer| offer.suggestion.rest_after(&text).is_some() || offer.suggestion.is_same_as(&text));
        if text.is_empty() || goes_with_it || (typing && !self.editor.is_recalled()) {
            self.followup(Followup::Edited { text });
        } else {
            self.followup(Followup::Keystroke { typed: false });
        }
        self.show_ghost();
    }

    /// Shows of the suggestion, where there is one, what goes with the prompt.
    pub(super) fn show_ghost(&mut self) {
        let ghost = || {
            let rest = self.controller.visible()?.rest_after(self.editor.text())?.to_owned();
            let place = self.controller.place().filter(|place| !place.is_only());
            Some(Ghost { place: place.map(|place| (place.number, place.of)), ..Ghost::only(rest) })
        };
        self.editor.set_ghost(ghost());
    }

    /// Tells the controller, and does what it asks for.
    pub(super) fn followup(&mut self, event: Followup) {
        self.followup_at(self.now(), event);
    }

    fn followup_at(&mut self, now: u64, event: Followup) {
        let fate = match event {
            // A wake comes for a typing slip that nobody took back, too.
            Followup::Dismiss | Followup::Keystroke { .. } | Followup::Edited { .. } | Followup::Wake => {
                self.fate()
            }
            Followup::Suggested { .. } => Outcome::Replaced,
            _ => Outcome::Aborted,
        };
        let effects = self.controller.handle(now, event);
        self.act_on(effects, fate);
    }

    pub(super) fn act_on(&mut self, effects: Effects, fate: Outcome) {
        for effect in effects {
            match effect {
                Effect::Show { suggestion, .. } => {
                    self.offers.saw(suggestion.as_str());
                    self.accounts.meter(|metering, _| metering.shown());
                    self.show_ghost();
                }
                Effect::Hide => self.show_ghost(),
                Effect::Insert { text } => self.editor.replace(&text),
                Effect::WakeAt { at } => self.wake_at = Some(at),
                Effect::StartSpeculation { .. } => self.start_ahead(),
                Effect::AbandonSpeculation => self.settle(fate),
                Effect::AbandonOthers { suggestion } => self.choose(suggestion.as_str()),
                _ => {}
            }
        }
    }

    /// Runs the best of the incoming suggestions ahead, as many as the user wants and the policy allows.
    fn start_ahead(&mut self) {
        self.settle(Outcome::Replaced);
        self.offers = std::mem::take(&mut self.incoming);
        if !self.settings.speculation {
            return;
        }
        let texts: Vec<_> =
            self.offers.iter().map(|offer| (offer.id.clone(), offer.suggestion.as_str())).collect();
        let most = self.settings.parallel;
        let answers = self.accounts.judge(|metering, now| metering.run(now, &texts, most));
        for (offer, answer) in self.offers.iter_mut().zip(answers) {
            let Some(allowance) = answer else { continue };
            if offer.work.is_some() {
                continue;
            }
            // A slash command is never run ahead; that is no error.
            let started =
                self.session.speculate(offer.id.clone(), offer.suggestion.as_str(), Some(allowance));
            offer.work = started.ok().map(|(speculation, events)| Ahead::new(speculation, events));
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
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// An id for each suggestion; what runs already has its own.
fn ids_of(
    request: RequestId,
    shown: &Result<Suggestions, NoGuess>,
    above: Option<&Ahead>,
) -> [String; MAX_CANDIDATES] {
    let first = shown.as_ref().ok().map(Suggestions::best);
    let runs = above.filter(|above| first.is_some_and(|first| first.as_str() == above.speculation.prompt()));
    std::array::from_fn(|place| match runs {
        Some(above) if place == 0 => above.speculation.id().to_owned(),
        _ => new_id(request.0, place),
    })
}
