use serde::{Deserialize, Serialize};

use crate::event::{AcceptMethod, Event, RequestId};
use crate::{Effect, Effects, Outcome, Source, Suggestion};

/// Milliseconds on a clock of the host's choice; only differences matter.
pub type Millis = u64;

/// How the controller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// Whether suggestions may show at the start.
    pub enabled: bool,
    /// Milliseconds between a suggestion's arrival and its showing, so that it does not flicker.
    pub show_delay_ms: u64,
    /// Milliseconds after an accept during which another accept is ignored, so that a key that repeats
    /// delivers once.
    pub accept_lock_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { enabled: true, show_delay_ms: 300, accept_lock_ms: 100 }
    }
}

/// The machine around the one suggestion on screen.
///
/// | event | what it does |
/// |---|---|
/// | suggested | drops what waits; starts its speculation (abandoning an older one); shows after the delay. What is on screen stays until then. When disabled: only drops what waits |
/// | suggested, nothing | drops what waits and what is on screen, and always hides |
/// | accept | ignored within the lock. Drops what waits. Takes the text on screen, else the fallback, else does nothing; records, hides, inserts (unless skipped) and locks |
/// | dismiss, typing | drops what waits; if one is on screen, records it as ignored and hides it |
/// | clear | drops everything, opens the lock, hides, records nothing |
/// | cleanup | as clear, without touching the screen |
/// | wake | shows what waits, when its time has come |
///
/// A speculation is abandoned when its suggestion is replaced, dismissed or cleared, not when it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowupController {
    config: Config,
    enabled: bool,
    waiting: Option<Waiting>,
    shown: Option<Shown>,
    speculating: Option<Suggestion>,
    accepted_at: Option<Millis>,
    newest_request: Option<RequestId>,
    settled_request: Option<RequestId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Waiting {
    suggestion: Suggestion,
    since: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    suggestion: Suggestion,
    at: Millis,
    first_keystroke: Option<Millis>,
}

impl FollowupController {
    /// A controller with nothing on screen.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            enabled: config.enabled,
            waiting: None,
            shown: None,
            speculating: None,
            accepted_at: None,
            newest_request: None,
            settled_request: None,
        }
    }

    /// Takes one event and says what to do. Total: no sequence of events, no time and no text panics.
    pub fn handle(&mut self, now: Millis, event: Event) -> Effects {
        let mut effects = Effects::default();
        match event {
            Event::Requested { request } => self.newest_request = self.newest_request.max(Some(request)),
            Event::Suggested { request, suggestion } => {
                if self.is_current(request) {
                    self.suggested(now, suggestion, &mut effects);
                }
            }
            Event::Suppressed { request, reason } => {
                if self.is_current(request) {
                    effects.push(Effect::Record { outcome: Outcome::Suppressed { reason } });
                }
            }
            Event::Enabled { enabled } => self.set_enabled(enabled, &mut effects),
            Event::Accept { method, fallback_text, skip_insert } => {
                self.accept(now, method, fallback_text, skip_insert, &mut effects);
            }
            Event::Dismiss => self.dismiss(now, &mut effects),
            Event::Clear => {
                self.reset(&mut effects);
                effects.push(Effect::Hide);
            }
            Event::Keystroke { typed } => self.keystroke(now, typed, &mut effects),
            Event::Wake => self.wake(now, &mut effects),
            Event::Cleanup => self.reset(&mut effects),
        }
        effects
    }

    /// The suggestion on screen.
    pub fn visible(&self) -> Option<&Suggestion> {
        self.shown.as_ref().map(|shown| &shown.suggestion)
    }

    /// Whether suggestions may show.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Notes the request and says whether its answer may still change anything.
    fn is_current(&mut self, request: RequestId) -> bool {
        let request = Some(request);
        if request < self.newest_request || request <= self.settled_request {
            return false;
        }
        self.newest_request = request;
        true
    }

    /// Makes every answer to a request known so far late.
    fn settle(&mut self) {
        self.settled_request = self.newest_request;
    }

    fn suggested(&mut self, now: Millis, suggestion: Option<Suggestion>, effects: &mut Effects) {
        self.waiting = None;
        let Some(suggestion) = suggestion else {
            self.shown = None;
            self.abandon(effects);
            effects.push(Effect::Hide);
            return;
        };
        if !self.enabled {
            return;
        }
        if self.speculating.as_ref() != Some(&suggestion) {
            self.abandon(effects);
            self.speculating = Some(suggestion.clone());
            effects.push(Effect::StartSpeculation { suggestion: suggestion.clone() });
        }
        self.waiting = Some(Waiting { suggestion, since: now });
        effects.push(Effect::WakeAt { at: now.saturating_add(self.config.show_delay_ms) });
    }

    fn wake(&mut self, now: Millis, effects: &mut Effects) {
        let Some(mut waiting) = self.waiting.take() else { return };
        // After a clock that jumped back the wait begins anew instead of lasting until the clock caught up.
        waiting.since = waiting.since.min(now);
        if now - waiting.since < self.config.show_delay_ms {
            effects.push(Effect::WakeAt { at: waiting.since.saturating_add(self.config.show_delay_ms) });
            self.waiting = Some(waiting);
            return;
        }
        if self.shown.is_some() {
            effects.push(Effect::Hide);
        }
        effects.push(Effect::Show { suggestion: waiting.suggestion.clone() });
        self.shown = Some(Shown { suggestion: waiting.suggestion, at: now, first_keystroke: None });
    }

    fn accept(
        &mut self,
        now: Millis,
        method: AcceptMethod,
        fallback: Option<String>,
        skip_insert: bool,
        effects: &mut Effects,
    ) {
        if self.accept_is_locked(now) {
            return;
        }
        self.waiting = None;
        let shown = self.shown.take();
        let fallback = fallback.filter(|text| !text.is_empty());
        let Some(text) = shown.as_ref().map(|shown| shown.suggestion.as_str().to_owned()).or(fallback) else {
            self.abandon(effects);
            return;
        };

        let source = if shown.is_some() { Source::Live } else { Source::Fallback };
        let outcome = Outcome::Accepted {
            accept_method: method,
            source,
            time_to_accept_ms: shown.as_ref().map_or(0, |shown| now.saturating_sub(shown.at)),
            time_to_first_keystroke_ms: shown.as_ref().and_then(Shown::time_to_first_keystroke),
            suggestion_length: text.chars().count(),
        };
        effects.push(Effect::Record { outcome });
        if shown.is_some() {
            effects.push(Effect::Hide);
        }
        // The speculation of the accepted text now belongs to the engine; one of another text has no taker.
        let accepted = self.speculating.take_if(|speculating| speculating.as_str() == text).is_some();
        if !accepted {
            self.abandon(effects);
        }
        if !skip_insert {
            effects.push(Effect::Insert { text });
        }
        self.accepted_at = Some(now);
        self.settle();
    }

    /// A lock whose start lies in the future (the clock jumped back) is open.
    fn accept_is_locked(&self, now: Millis) -> bool {
        self.accepted_at.is_some_and(|at| at <= now && now - at < self.config.accept_lock_ms)
    }

    fn dismiss(&mut self, now: Millis, effects: &mut Effects) {
        self.waiting = None;
        self.settle();
        if let Some(shown) = self.shown.take() {
            let outcome = Outcome::Ignored {
                time_to_ignore_ms: now.saturating_sub(shown.at),
                time_to_first_keystroke_ms: shown.time_to_first_keystroke(),
                suggestion_length: shown.suggestion.char_count(),
            };
            effects.push(Effect::Record { outcome });
            effects.push(Effect::Hide);
        }
        self.abandon(effects);
    }

    fn keystroke(&mut self, now: Millis, typed: bool, effects: &mut Effects) {
        if let Some(shown) = &mut self.shown {
            shown.first_keystroke.get_or_insert(now);
        }
        if typed {
            self.dismiss(now, effects);
        }
    }

    fn set_enabled(&mut self, enabled: bool, effects: &mut Effects) {
        if enabled == self.enabled {
            return;
        }
        let was_shown = self.shown.is_some();
        self.enabled = enabled;
        self.reset(effects);
        if was_shown {
            effects.push(Effect::Hide);
        }
    }

    fn reset(&mut self, effects: &mut Effects) {
        self.waiting = None;
        self.shown = None;
        self.accepted_at = None;
        self.settle();
        self.abandon(effects);
    }

    fn abandon(&mut self, effects: &mut Effects) {
        if self.speculating.take().is_some() {
            effects.push(Effect::AbandonSpeculation);
        }
    }
}

impl Shown {
    fn time_to_first_keystroke(&self) -> Option<u64> {
        self.first_keystroke.map(|at| at.saturating_sub(self.at))
    }
}
