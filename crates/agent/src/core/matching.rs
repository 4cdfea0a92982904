//! Prompts whose words ask for the work of a guess: they take it, or are told what they add to it.

use headstart_budget::ledger::{Outcome, TakenBy};
use headstart_followup_state::{Candidates, Config, Event as Followup, Match, Meaning, RequestId, filter};
use headstart_speculation::Speculation;

use super::suggestions::Offer;
use super::{Activity, Core};
use crate::options::Matching;
use crate::view::{ActionError, Submission};

/// Suggestions past which their user typed.
pub(super) struct PassedSuggestions {
    pub(super) candidates: Candidates,
    /// What becomes of them if the prompt asks for something else.
    pub(super) outcome: Outcome,
}

/// A guess to which a prompt adds something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// The guess.
    pub guess: String,
    /// The words of the prompt that ask for the guess's work.
    pub same: String,
    /// What the prompt asks for besides.
    pub rest: String,
    /// Whether the work has ended; else it still runs.
    pub is_ready: bool,
}

/// Work that was taken because other words than its guess asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedWork {
    /// The id of the work.
    pub id: String,
    /// What the user sent.
    pub prompt: String,
    /// Whether the work changed anything.
    pub has_changes: bool,
}

impl Core {
    /// Whether this event is only that the user types something else, and the work for the suggestions may yet be what
    /// they ask for.
    pub(super) fn types_past(&self, event: &Followup) -> bool {
        let is_typing =
            matches!(event, Followup::Keystroke { .. } | Followup::Edited { .. } | Followup::Wake);
        is_typing
            && self.options.matching != Matching::Off
            && !self.suggesting.offers.is_empty()
            && !self.is_over
    }

    /// Gives up the suggestions past which the user typed, and their work.
    pub(super) fn close_passed(&mut self) {
        if let Some(PassedSuggestions { candidates, outcome }) = self.suggesting.passed.take() {
            self.close_offers(&candidates, outcome);
        }
    }

    /// Offers the suggestions past which the user typed once more, with their work, as soon as the line is empty again or
    /// is the beginning of one of them: until a prompt is sent nothing is decided.
    pub(super) fn offer_passed_again(&mut self, text: &str) {
        let again = self.suggesting.passed.take_if(|passed| passed.candidates.any_matches(text));
        let Some(PassedSuggestions { candidates, .. }) = again else { return };
        let request = RequestId(self.next_number());
        // They were on the screen before, so they are back at once.
        let came = self.now.ms.saturating_sub(Config::default().show_delay_ms);
        // Their work is there, so that it is not begun anew, as for suggestions that are new.
        self.suggesting
            .controller
            .handle(came, Followup::suggested(request, candidates.suggestions().clone()));
        self.followup(Followup::Wake);
    }

    /// Takes the suggestion whose work this prompt asks for, in its own words or in others. The other suggestions are
    /// dropped.
    pub(super) fn take_matching_offer(&mut self, prompt: &str) -> Option<Offer> {
        let candidates = self.candidates()?.clone();
        let has_work =
            |index: &usize| self.suggesting.offers.get(*index).is_some_and(|offer| offer.work.is_some());
        let asks_for = |index: &usize| match (self.options.matching, &candidates.suggestions()[*index]) {
            (Matching::Off, _) => false,
            (Matching::Exact, suggestion) => Meaning::is_equal(suggestion.as_str(), prompt),
            (Matching::Meaning, suggestion) => matches!(suggestion.compare(prompt), Match::Same(_)),
        };
        let all = 0..candidates.suggestions().len();
        let with_work = || all.clone().filter(has_work).find(asks_for);
        // A guess without work came true as well, and that is learned. The prompt is sent as it is.
        let chosen = candidates.position(prompt).or_else(with_work).or_else(|| all.clone().find(asks_for))?;
        self.suggesting.passed = None;
        let taken = self.take_offer_at(&candidates, chosen);
        taken.map(|offer| by(offer, TakenBy::Typed))
    }

    /// The suggestions with their work, also if the user typed past them.
    pub(super) fn candidates(&self) -> Option<&Candidates> {
        self.suggesting.controller.offered().or(self
            .suggesting
            .passed
            .as_ref()
            .map(|passed| &passed.candidates))
    }

    /// What this prompt adds to a guess whose work is there.
    pub(crate) fn extension(&self, prompt: &str) -> Option<Extension> {
        self.extended(prompt).map(|(_, extension)| extension)
    }

    fn extended(&self, prompt: &str) -> Option<(usize, Extension)> {
        if self.options.matching != Matching::Meaning || self.is_busy() || self.is_over {
            return None;
        }
        let suggestions = self.candidates()?.suggestions();
        let mut with_work = self.suggesting.offers.iter().zip(suggestions.iter()).enumerate();
        with_work.find_map(|(index, (offer, guess))| {
            let is_ready = offer.work.as_ref()?.finished.is_some();
            let Match::Extends { end, at } = guess.compare(prompt) else { return None };
            let same = prompt.get(..end)?.trim().trim_end_matches([',', ';', '，', '、']).to_owned();
            let rest = prompt.get(at..)?.trim().to_owned();
            Some((index, Extension { guess: guess.to_string(), same, rest, is_ready }))
        })
    }

    /// Takes the work of the guess to which this prompt adds something; the rest is sent behind it.
    pub(crate) fn take_extended(&mut self, prompt: &str) -> Result<(), ActionError> {
        self.is_open()?;
        let extended = self.extended(prompt).zip(self.candidates().cloned());
        let Some(((index, Extension { same, rest, .. }), candidates)) = extended else {
            return Err(ActionError::Stale);
        };
        self.line.clear();
        self.suggesting.passed = None;
        let taken = self.take_offer_at(&candidates, index).map(|offer| by(offer, TakenBy::Extended));
        self.send_with(&same, taken);
        self.queue.push_back(rest);
        Ok(())
    }

    /// Sends a prompt for which no work that ran ahead is taken.
    pub(crate) fn submit_as_typed(&mut self, prompt: &str) -> Result<Submission, ActionError> {
        if !self.is_busy() {
            let outcome = self.outcome_if_left();
            self.leave_suggestion(outcome);
        }
        self.submit(prompt)
    }

    /// The work that was taken last because other words asked for it.
    pub(crate) fn matched(&self) -> Option<MatchedWork> {
        self.suggesting.matched.clone().filter(|_| matches!(self.activity, Activity::Idle) && !self.is_over)
    }
}

/// Notes for the ledger how the work was taken.
fn by(mut offer: Offer, how: TakenBy) -> Offer {
    if let Some(work) = &mut offer.work {
        work.meter.taken_by = Some(how);
    }
    offer
}

/// The guess for which the work ran, if the prompt has other words.
pub(super) fn guess_of_other_words(work: &Speculation, prompt: &str) -> Option<String> {
    let guess = work.prompt();
    let is_same = guess == prompt || filter(guess).is_ok_and(|guess| guess.is_same_as(prompt));
    (!is_same).then(|| guess.to_owned())
}
