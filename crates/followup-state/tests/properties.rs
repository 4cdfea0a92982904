//! Properties of the controller for every sequence of events, and of the filter for every text.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/strategies.rs"]
mod strategies;

use std::collections::HashSet;

use headstart_followup_state::{
    Config, Effect, Event, FilterReason, FollowupController, MAX_CANDIDATES, Millis, Outcome, RequestId,
    Suggestion, filter,
};
use proptest::prelude::*;

use self::strategies::{a_log, a_prompt, a_suggestion, a_text};

fn play(log: &[(Millis, Event)]) -> Vec<Vec<Effect>> {
    let mut controller = FollowupController::new(Config::default());
    log.iter().map(|(now, event)| controller.handle(*now, event.clone()).to_vec()).collect()
}

/// A model of a host that obeys the effects: what it has on its screen, and which speculations it runs.
#[derive(Default)]
struct Host {
    screen: Option<Suggestion>,
    /// The suggestion that a typing slip took off the screen.
    slipped: Option<Suggestion>,
    speculating: Vec<Suggestion>,
    prompt: String,
    last_accept: Option<Millis>,
}

impl Host {
    fn obey(&mut self, now: Millis, event: &Event, effects: &[Effect]) -> Result<(), TestCaseError> {
        let before = self.screen.clone().or_else(|| self.slipped.clone());
        let on_screen = self.screen.clone();
        if let Event::Edited { text } = event {
            self.prompt.clone_from(text);
        }
        for effect in effects {
            match effect {
                Effect::Show { suggestion, rest, place } => {
                    prop_assert!(self.screen.is_none(), "two on screen");
                    let shows = matches!(
                        event,
                        Event::Wake | Event::Edited { .. } | Event::NextCandidate | Event::PreviousCandidate
                    );
                    prop_assert!(shows, "shows after {:?}", event);
                    let all_typed = suggestion.is_same_as(&self.prompt).then_some("");
                    let behind = suggestion.rest_after(&self.prompt).or(all_typed);
                    prop_assert!(behind.is_some(), "{:?} does not begin with {:?}", suggestion, self.prompt);
                    prop_assert_eq!(rest.as_deref().or(Some(suggestion.as_str())), behind);
                    prop_assert!((1..=place.of).contains(&place.number) && place.of <= MAX_CANDIDATES);
                    self.screen = Some(suggestion.clone());
                }
                Effect::Hide => self.screen = None,
                Effect::Insert { text } => self.check_insert(now, event, on_screen.as_ref(), text)?,
                Effect::WakeAt { at } => prop_assert!(now <= *at),
                Effect::Record { outcome } => {
                    Self::check_record(event, before.as_ref(), outcome)?;
                    self.slipped = None;
                }
                Effect::StartSpeculation { suggestions } => {
                    prop_assert!(self.speculating.is_empty(), "two at a time");
                    self.speculating = suggestions.to_vec();
                    prop_assert!(self.speculating.len() <= MAX_CANDIDATES);
                    let known: HashSet<_> = self.speculating.iter().collect();
                    prop_assert_eq!(known.len(), self.speculating.len(), "one twice");
                }
                Effect::AbandonSpeculation => {
                    let abandoned = std::mem::take(&mut self.speculating);
                    prop_assert!(!abandoned.is_empty(), "abandons what does not run");
                }
                Effect::AbandonOthers { suggestion } => {
                    prop_assert!(matches!(event, Event::Accept { .. }), "nothing was accepted");
                    prop_assert!(self.speculating.contains(suggestion) && 1 < self.speculating.len());
                    self.speculating.retain(|speculating| speculating == suggestion);
                }
                _ => prop_assert!(false, "unknown effect"),
            }
        }
        if self.screen.is_none() && effects.contains(&Effect::Hide) && matches!(event, Event::Edited { .. }) {
            self.slipped = on_screen;
        }
        let accepted =
            effects.iter().any(|e| matches!(e, Effect::Record { outcome: Outcome::Accepted { .. } }));
        if accepted {
            // Speculations that still run after an accept were accepted and belong to the engine.
            prop_assert!(self.speculating.len() <= 1, "one is accepted");
            self.speculating.clear();
            self.last_accept = Some(now);
            // The host reports with the next edit what the line holds after an accept.
            self.prompt.clear();
        }
        match event {
            Event::Cleanup => {
                (self.screen, self.last_accept) = (None, None);
                self.prompt.clear();
            }
            Event::Clear => {
                self.last_accept = None;
                self.prompt.clear();
            }
            Event::Enabled { .. } => self.last_accept = None,
            _ => {}
        }
        Ok(())
    }

    fn check_insert(
        &self,
        now: Millis,
        event: &Event,
        before: Option<&Suggestion>,
        text: &str,
    ) -> Result<(), TestCaseError> {
        let Event::Accept { fallback_text, skip_insert, .. } = event else {
            return Err(TestCaseError::fail("inserts without an accept"));
        };
        prop_assert!(!skip_insert);
        let expected = before.map(Suggestion::as_str).or(fallback_text.as_deref());
        prop_assert_eq!(Some(text), expected);
        if let Some(last) = self.last_accept {
            prop_assert!(now < last || 100 <= now - last, "accepts within the lock");
        }
        Ok(())
    }

    fn check_record(
        event: &Event,
        before: Option<&Suggestion>,
        outcome: &Outcome,
    ) -> Result<(), TestCaseError> {
        match outcome {
            Outcome::Accepted { .. } => prop_assert!(matches!(event, Event::Accept { .. }), "not an accept"),
            Outcome::Ignored { .. } => prop_assert!(before.is_some(), "ignored what was never on screen"),
            Outcome::Suppressed { .. } => {
                prop_assert!(matches!(event, Event::Suppressed { .. }), "not a suppression");
            }
            _ => prop_assert!(false, "unknown outcome"),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// For every sequence of events, a host that obeys the effects has at most one suggestion on its screen, and only
    /// inserts that one.
    #[test]
    fn a_host_that_obeys_has_at_most_one_suggestion_on_screen_and_inserts_only_it(log in a_log()) {
        let mut controller = FollowupController::new(Config::default());
        let mut host = Host::default();
        for (now, event) in &log {
            let effects = controller.handle(*now, event.clone());
            host.obey(*now, event, &effects)?;
            prop_assert_eq!(host.screen.as_ref(), controller.visible());
        }
    }

    /// For every text in the line and any number of candidates: if a key leads away from them and is taken back in
    /// time, nothing changes for the host. If it is not taken back, all candidates are given up exactly once.
    #[test]
    fn a_slip_that_is_taken_back_in_time_changes_nothing(
        texts in proptest::collection::vec(a_suggestion(), 1..5),
        length in 0_usize..8,
        turns in 0_usize..3,
        is_shown in any::<bool>(),
        key in "[xyz.ß ]",
        time in 0_u64..4_000,
        second in any::<bool>(),
    ) {
        let mut controller = FollowupController::new(Config::default());
        let typed: String = texts[0].as_str().chars().take(length).collect();
        let slipped = typed.clone() + &key;
        prop_assume!(texts.iter().all(|text| text.rest_after(&slipped).is_none() && !text.is_same_as(&slipped)));
        controller.handle(0, Event::suggested(RequestId(1), texts));
        if is_shown {
            controller.handle(300, Event::Wake);
        }
        controller.handle(310, Event::Edited { text: typed.clone() });
        for _ in 0..turns {
            controller.handle(320, Event::NextCandidate);
        }
        let before = controller.clone();
        let mut effects: Vec<Effect> = Vec::new();
        effects.extend(controller.handle(330, Event::Edited { text: slipped.clone() }));
        prop_assert!(controller.visible().is_none());
        prop_assert_eq!(controller.is_on_offer(), is_shown);
        if second {
            effects.extend(controller.handle(340, Event::Edited { text: slipped + "q" }));
        }
        // The controller may rely on no wake: sometimes the host wakes it as requested, and sometimes it does not.
        if time % 2 == 0 && 2_000 <= time {
            effects.extend(controller.handle(2_330, Event::Wake));
        }
        effects.extend(controller.handle(330 + time, Event::Edited { text: typed.clone() }));
        let given_up = effects.iter().filter(|effect| **effect == Effect::AbandonSpeculation).count();
        let ignored = effects.iter().filter(|effect| matches!(effect, Effect::Record { .. })).count();
        if second || 2_000 <= time {
            prop_assert_eq!((given_up, ignored), (1, usize::from(is_shown)));
            prop_assert!(controller.visible().is_none() && !controller.is_on_offer());
            prop_assert!(controller.handle(9_000, Event::Wake).is_empty());
        } else {
            prop_assert_eq!((given_up, ignored), (0, 0));
            if is_shown {
                prop_assert_eq!(controller.visible(), before.visible());
                prop_assert_eq!((controller.rest(), controller.place()), (before.rest(), before.place()));
            } else {
                controller.handle(9_000, Event::Wake);
                prop_assert!(controller.visible().is_some());
            }
        }
    }

    /// Turning visits every matching candidate once, and then comes back to the first.
    #[test]
    fn turning_as_often_as_there_are_candidates_returns(
        texts in proptest::collection::vec(a_suggestion(), 1..5),
        prompt in a_prompt(),
        forward in any::<bool>(),
        start in 0_usize..4,
    ) {
        let mut controller = FollowupController::new(Config::default());
        controller.handle(0, Event::suggested(RequestId(1), texts));
        controller.handle(300, Event::Wake);
        controller.handle(400, Event::Edited { text: prompt.clone() });
        for _ in 0..start {
            controller.handle(450, Event::NextCandidate);
        }
        let first = controller.visible().cloned();
        let mut seen = HashSet::new();
        for _ in 0..controller.place().map_or(0, |place| place.of) {
            let event = if forward { Event::NextCandidate } else { Event::PreviousCandidate };
            controller.handle(500, event);
            let visible = controller.visible().cloned();
            let goes_with_it =
                |text: &Suggestion| text.rest_after(&prompt).is_some() || text.is_same_as(&prompt);
            prop_assert!(visible.as_ref().is_some_and(goes_with_it));
            prop_assert!(seen.insert(visible), "one twice on the way round");
        }
        prop_assert_eq!(controller.visible(), first.as_ref());
    }

    /// A log can be stored as JSON and played again, with the same effects.
    #[test]
    fn a_replayed_log_gives_the_same_effects(log in a_log()) {
        let json = serde_json::to_string(&log).unwrap();
        let replayed: Vec<(Millis, Event)> = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(play(&log), play(&replayed));
    }

    /// Every text has an outcome, and a suggestion that was kept passes the filter again unchanged.
    #[test]
    fn the_filter_is_total_and_a_kept_text_is_kept_again(text in a_text()) {
        if let Ok(kept) = filter(&text) {
            prop_assert_eq!(kept.as_str(), text.trim());
            prop_assert_eq!(filter(kept.as_str()), Ok(kept.clone()));
            prop_assert!(kept.as_str().chars().all(|c| !c.is_control()));
        }
    }

    /// Quotes, capitals, blanks and words around a destructive command must not hide it from the filter.
    #[test]
    fn a_destructive_command_stays_destructive_in_other_clothes(
        command in prop_oneof!["rm -rf /", "git push --force", "git reset --hard", "terraform destroy", "drop table users"],
        before in prop_oneof![Just(""), Just("sudo "), Just("run "), Just("ls && "), Just("please run ")],
        after in prop_oneof![Just(""), Just(" now"), Just(" && ls"), Just("; ls")],
        quote in prop_oneof![Just(""), Just("'"), Just("\""), Just("`")],
        shout in any::<bool>(),
        spaces in 1_usize..4,
    ) {
        let command = if shout { command.to_uppercase() } else { command };
        let command = command.replace(' ', &" ".repeat(spaces));
        let text = format!("{before}{quote}{command}{quote}{after}");
        prop_assert_eq!(filter(&text), Err(FilterReason::Destructive), "{}", text);
    }
}
