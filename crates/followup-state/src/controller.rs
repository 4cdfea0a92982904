mod slip;

use self::slip::{Slip, is_one_key};
use crate::candidates::{Candidates, Direction};
use crate::event::{AcceptMethod, Event, RequestId};
use crate::{CandidatePosition, Config, Effect, Effects, Millis, Outcome, Source, Suggestion, Suggestions};

/// Decides which of the candidates is on screen, and what a key does to it.
///
/// In this table, *waiting* candidates are offered but not on screen yet, because the show delay is not over.
///
/// | event | what it does |
/// |---|---|
/// | suggested | drops waiting candidates; starts the speculation of the new ones (abandoning an older one); shows them after the delay. What is on screen stays until then. When disabled: only drops waiting candidates |
/// | suggested, nothing | drops waiting candidates and what is on screen, and always hides |
/// | accept | ignored within the lock, and by Tab while what is on screen is too new there. Drops waiting candidates. Takes the text on screen, else the fallback, else does nothing; records, hides, inserts (unless skipped) and locks |
/// | dismiss, typing | drops waiting candidates; if one is on screen, records it as ignored and hides it |
/// | edited | if a candidate begins with the text: shows the rest of it. Else, if one key made the difference: a slip, which hides. Else as typing |
/// | edited after a slip | if a candidate begins with the text: all is as before the slip. Else as typing |
/// | next, previous candidate | shows another candidate that begins with the typed text |
/// | clear | drops everything, opens the lock, hides, records nothing |
/// | cleanup | as clear, without touching the screen |
/// | wake | shows waiting candidates, when their time has come; when the time to take back a slip is over, as typing |
///
/// A speculation is abandoned when its suggestion is replaced, dismissed or cleared, not when it is accepted. When one of
/// several candidates is accepted, those of the others are abandoned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowupController {
    config: Config,
    enabled: bool,
    /// The candidates whose work was started, and neither abandoned nor accepted since.
    offered: Option<Candidates>,
    /// Since when `offered` waits for the end of the show delay; `None` if it does not wait.
    waiting: Option<Millis>,
    shown: Option<Shown>,
    /// The content of the input line, as far as the host tells. Candidates that wait or are shown begin with it,
    /// except during a slip.
    typed: String,
    slip: Option<Slip>,
    accepted_at: Option<Millis>,
    newest_request: Option<RequestId>,
    settled_request: Option<RequestId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    /// The candidates on screen, if they are no longer the ones in `offered`: the next ones wait already, or the work
    /// of these was abandoned.
    former: Option<Candidates>,
    at: Millis,
    first_keystroke: Option<Millis>,
}

impl FollowupController {
    /// A controller with nothing on screen.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            enabled: config.enabled,
            offered: None,
            waiting: None,
            shown: None,
            typed: String::new(),
            slip: None,
            accepted_at: None,
            newest_request: None,
            settled_request: None,
        }
    }

    /// Takes one event and says what to do. It never panics, whatever the order of events, the times and the texts.
    pub fn handle(&mut self, now: Millis, event: Event) -> Effects {
        let mut effects = Effects::default();
        match event {
            Event::Requested { request } => self.newest_request = self.newest_request.max(Some(request)),
            Event::Suggested { request, suggestions } => {
                if self.is_current(request) {
                    self.suggested(now, suggestions, &mut effects);
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
                self.typed.clear();
                self.reset(&mut effects);
                effects.push(Effect::Hide);
            }
            Event::Keystroke { typed } => self.keystroke(now, typed, &mut effects),
            Event::Edited { text } => self.edited(now, text, &mut effects),
            Event::NextCandidate => self.turn(now, Direction::Next, &mut effects),
            Event::PreviousCandidate => self.turn(now, Direction::Previous, &mut effects),
            Event::Wake => self.wake(now, &mut effects),
            Event::Cleanup => {
                self.typed.clear();
                self.reset(&mut effects);
            }
        }
        effects
    }

    /// The suggestion on screen.
    pub fn visible(&self) -> Option<&Suggestion> {
        self.on_screen().and_then(|candidates| candidates.current(&self.typed))
    }

    /// The part of the visible suggestion that is not typed yet.
    pub fn rest(&self) -> Option<&str> {
        // A text that differs only in blanks or a full stop is not a prefix, but it is typed completely.
        self.visible().map(|suggestion| suggestion.rest_after(&self.typed).unwrap_or_default())
    }

    /// Whether a suggestion is on screen, or was until a typing slip that can still be taken back.
    pub fn is_on_offer(&self) -> bool {
        self.shown.is_some()
    }

    /// Which of the candidates the visible suggestion is.
    pub fn place(&self) -> Option<CandidatePosition> {
        self.visible()?;
        self.on_screen().map(|candidates| candidates.place(&self.typed))
    }

    /// The candidates of the last [`Effect::StartSpeculation`], until they are abandoned or one of them is accepted.
    pub fn offered(&self) -> Option<&Candidates> {
        self.offered.as_ref()
    }

    fn on_screen(&self) -> Option<&Candidates> {
        self.shown.as_ref().and_then(|shown| shown.former.as_ref().or(self.offered.as_ref()))
    }

    /// Whether suggestions may show.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Notes the request and says whether its answer may still change anything: a late answer must not.
    fn is_current(&mut self, request: RequestId) -> bool {
        let request = Some(request);
        if request < self.newest_request || request <= self.settled_request {
            return false;
        }
        self.newest_request = request;
        true
    }

    /// Makes the answers to all requests known so far late.
    fn settle(&mut self) {
        self.settled_request = self.newest_request;
    }

    fn suggested(&mut self, now: Millis, suggestions: Option<Suggestions>, effects: &mut Effects) {
        self.waiting = None;
        let Some(suggestions) = suggestions else {
            self.shown = None;
            self.slip = None;
            self.abandon(effects);
            effects.push(Effect::Hide);
            return;
        };
        if !self.enabled {
            return;
        }
        if self.slip.is_some() {
            // The new candidates replace the ones that a user could return to by taking the slip back.
            self.ignore(now, effects);
        }
        let candidates = Candidates::new(suggestions);
        if !candidates.any_matches(&self.typed) {
            // The user is typing something that none of the new candidates begins with.
            return self.abandon(effects);
        }
        if !self.offered.as_ref().is_some_and(|offered| offered.suggestions() == candidates.suggestions()) {
            self.abandon(effects);
            effects.push(Effect::StartSpeculation { suggestions: candidates.suggestions().clone() });
            self.offered = Some(candidates);
        }
        self.waiting = Some(now);
        effects.push(Effect::WakeAt { at: now.saturating_add(self.config.show_delay_ms) });
    }

    fn wake(&mut self, now: Millis, effects: &mut Effects) {
        if self.slip.is_some() {
            return self.wake_in_slip(now, effects);
        }
        let Some(since) = self.waiting.take() else { return };
        // After a clock that jumped back the wait begins again, because it would otherwise last until the clock
        // caught up.
        let since = since.min(now);
        if now - since < self.config.show_delay_ms {
            effects.push(Effect::WakeAt { at: since.saturating_add(self.config.show_delay_ms) });
            self.waiting = Some(since);
            return;
        }
        if self.shown.is_some() {
            effects.push(Effect::Hide);
        }
        if let Some(offered) = &mut self.offered {
            offered.begin_anew();
        }
        self.shown = Some(Shown { former: None, at: now, first_keystroke: None });
        self.show(effects);
    }

    fn show(&mut self, effects: &mut Effects) {
        let Some(shown) = &mut self.shown else { return };
        if let Some(candidates) = shown.former.as_mut().or(self.offered.as_mut()) {
            candidates.show(&self.typed);
        }
        if let (Some(suggestion), Some(place)) = (self.visible(), self.place()) {
            let rest = if self.typed.is_empty() { None } else { self.rest().map(str::to_owned) };
            effects.push(Effect::Show { suggestion: suggestion.clone(), rest, place });
        }
    }

    fn turn(&mut self, now: Millis, step: Direction, effects: &mut Effects) {
        if self.slip.is_some() {
            return;
        }
        let Some(shown) = &mut self.shown else { return };
        shown.first_keystroke.get_or_insert(now);
        let Some(candidates) = shown.former.as_mut().or(self.offered.as_mut()) else { return };
        if candidates.turn(&self.typed, step) {
            effects.push(Effect::Hide);
            self.show(effects);
        }
    }

    fn edited(&mut self, now: Millis, text: String, effects: &mut Effects) {
        if text == self.typed {
            return;
        }
        if let Some(shown) = &mut self.shown {
            shown.first_keystroke.get_or_insert(now);
        }
        match self.slip {
            Some(slip) if self.config.slip_ms <= now.saturating_sub(slip.at) => {
                // The host sent the wake late or not at all, so the slip's time is checked here too.
                self.dismiss(now, effects);
                self.typed = text;
                return;
            }
            None if self.leads_away(&text) && is_one_key(&self.typed, &text) => {
                return self.begin_slip(now, text, effects);
            }
            _ => {}
        }
        let goes_past = |candidates: &Candidates| !candidates.any_matches(&text);
        let dropped = self.waiting.take_if(|_| self.offered.as_ref().is_some_and(goes_past));
        if self.on_screen().is_some_and(goes_past) {
            self.ignore(now, effects);
        }
        let is_back = self.slip.take().is_some();
        self.typed = text;
        if self.shown.is_some() {
            effects.push(Effect::Hide);
            self.show(effects);
        }
        if let Some(since) = self.waiting.filter(|_| is_back) {
            // The wake for the show delay may have come during the slip, when nothing could be shown.
            let at = since.saturating_add(self.config.show_delay_ms);
            effects.push(Effect::WakeAt { at: at.max(now) });
        }
        if self.waiting.is_none() && (dropped.is_some() || self.shown.is_none()) {
            self.abandon(effects);
        }
        if self.waiting.is_none() && self.shown.is_none() && !self.typed.is_empty() {
            self.settle();
        }
    }

    fn accept(
        &mut self,
        now: Millis,
        method: AcceptMethod,
        fallback: Option<String>,
        skip_insert: bool,
        effects: &mut Effects,
    ) {
        if self.accept_is_locked(now) || self.tab_is_early(now, method) {
            return;
        }
        self.waiting = None;
        if self.slip.is_some() {
            self.ignore(now, effects);
        }
        let live = self.visible().map(|suggestion| suggestion.as_str().to_owned());
        let shown = self.shown.take();
        let fallback = fallback.filter(|text| !text.is_empty());
        let Some(text) = live.or(fallback) else {
            self.abandon(effects);
            return;
        };
        self.typed.clear();

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
        // The speculation of the accepted text now belongs to the engine; nobody will take those of the other
        // candidates.
        match self.offered.as_ref().and_then(|offered| offered.find(&text)).cloned() {
            Some(suggestion) => {
                let others =
                    self.offered.take().is_some_and(|offered| !offered.suggestions().others().is_empty());
                if others {
                    effects.push(Effect::AbandonOthers { suggestion });
                }
            }
            None => self.abandon(effects),
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

    /// Whether Tab was pressed so soon after the suggestion came on screen that the user cannot have seen it before.
    fn tab_is_early(&mut self, now: Millis, method: AcceptMethod) -> bool {
        let Some(shown) = self.shown.as_mut().filter(|_| self.slip.is_none() && method == AcceptMethod::Tab)
        else {
            return false;
        };
        let is_early = shown.at <= now && now - shown.at < self.config.tab_delay_ms;
        if is_early {
            shown.first_keystroke.get_or_insert(now);
        }
        is_early
    }

    fn dismiss(&mut self, now: Millis, effects: &mut Effects) {
        self.waiting = None;
        self.settle();
        self.ignore(now, effects);
        self.abandon(effects);
    }

    /// Records that the user typed past what is on screen, with this key or with the slip before it.
    fn ignore(&mut self, now: Millis, effects: &mut Effects) {
        let slip = self.slip.take();
        let length =
            slip.map_or_else(|| self.visible().map_or(0, Suggestion::char_count), |slip| slip.length);
        let Some(shown) = self.shown.take() else { return };
        let outcome = Outcome::Ignored {
            time_to_ignore_ms: slip.map_or(now, |slip| slip.at).saturating_sub(shown.at),
            time_to_first_keystroke_ms: shown.time_to_first_keystroke(),
            suggestion_length: length,
        };
        effects.push(Effect::Record { outcome });
        if slip.is_none() {
            effects.push(Effect::Hide);
        }
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
        if let Some(slip) = self.slip {
            self.ignore(slip.at, effects);
        }
        self.waiting = None;
        self.shown = None;
        self.accepted_at = None;
        self.settle();
        self.abandon(effects);
    }

    fn abandon(&mut self, effects: &mut Effects) {
        let Some(abandoned) = self.offered.take() else { return };
        effects.push(Effect::AbandonSpeculation);
        if let Some(shown) = &mut self.shown {
            // The suggestion itself stays on screen, without its work, until the next candidates are shown or the
            // host hides it.
            shown.former.get_or_insert(abandoned);
        }
    }
}

impl Shown {
    fn time_to_first_keystroke(&self) -> Option<u64> {
        self.first_keystroke.map(|at| at.saturating_sub(self.at))
    }
}
