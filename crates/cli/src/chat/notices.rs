//! What the chat sends to the terminal besides text: its title, the progress of the turn, and notifications.

use std::time::{Duration, Instant};

use headstart_agent::{Phase, View};
use headstart_machine::config::ScreenConfig;
use headstart_machine::error::CliError;
use headstart_terminal::{TerminalFeatures, sanitize};

use super::Chat;

/// A user whose terminal has no focus is notified after a turn that took longer.
const LONG: Duration = Duration::from_secs(10);
/// If the terminal does not report its focus, the user is notified after a turn that took longer than this.
const VERY_LONG: Duration = Duration::from_secs(30);

/// Which of these the terminal is sent, and the state that it was sent last.
#[derive(Debug)]
pub(super) struct Notices {
    features: TerminalFeatures,
    notify: bool,
    title: bool,
    /// Whether the terminal may show that a turn is at work, which it does with something that moves.
    animations: bool,
    /// The name of the folder. Nothing that a model wrote is ever sent this way.
    folder: String,
    /// Whether the terminal has the focus, if it reports that.
    has_focus: Option<bool>,
    /// What the terminal was told last.
    last: Option<Activity>,
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Idle,
    Works,
    Asks,
}

impl Notices {
    pub(super) fn new(features: TerminalFeatures, screen: &ScreenConfig, folder: &str) -> Self {
        let folder = sanitize(folder).replace(['\n', '\t'], " ");
        Self {
            features,
            notify: screen.notify,
            title: screen.title,
            animations: screen.animations,
            folder,
            has_focus: None,
            last: None,
            began: Instant::now(),
        }
    }

    pub(super) fn on_focus(&mut self, has_focus: bool) {
        self.has_focus = Some(has_focus);
    }

    /// The codes for what has changed.
    fn codes(&mut self, stage: Activity, now: Instant) -> String {
        let previous = self.last.replace(stage);
        if previous == Some(stage) {
            return String::new();
        }
        let last = previous.unwrap_or(Activity::Idle);
        if (last, stage) == (Activity::Idle, Activity::Works) {
            self.began = now;
        }
        let mut codes = String::new();
        if self.title {
            let word = match stage {
                Activity::Idle => "",
                Activity::Works => ", working",
                Activity::Asks => ", asks",
            };
            codes += &self.features.title(&format!("headstart: {}{word}", self.folder));
        }
        // No progress has to be ended in a terminal whose title was never set to "working".
        if previous.is_some() || stage != Activity::Idle {
            codes += self.features.progress(match stage {
                Activity::Works if self.animations => 3,
                Activity::Idle | Activity::Works => 0,
                Activity::Asks => 4,
            });
        }
        let took = now.saturating_duration_since(self.began);
        let is_away = match self.has_focus {
            Some(has_focus) => !has_focus && (stage == Activity::Asks || LONG < took),
            None => VERY_LONG < took,
        };
        let calls = match (last, stage) {
            (_, Activity::Asks) => Some("a question waits in"),
            (Activity::Works, Activity::Idle) => Some("a turn has ended in"),
            _ => None,
        };
        if let Some(calls) = calls.filter(|_| self.notify && is_away) {
            codes += &self.features.notification(&format!("headstart: {calls} {}", self.folder));
        }
        codes
    }
}

impl Chat {
    /// Sends the terminal the codes for what has changed.
    pub(super) fn tell_terminal(&mut self, view: &View) -> Result<(), CliError> {
        if !self.display.has_keys() {
            return Ok(());
        }
        let stage = match view.phase {
            _ if self.question.is_some() => Activity::Asks,
            Phase::Idle | Phase::Ended if self.own_began().is_none() => Activity::Idle,
            _ => Activity::Works,
        };
        match self.notices.codes(stage, Instant::now()) {
            codes if codes.is_empty() => Ok(()),
            codes => self.display.send(&codes),
        }
    }

    /// Ends the progress that the terminal shows. The guard restores the title.
    pub(super) fn end_progress(&mut self) -> Result<(), CliError> {
        if self.notices.last.is_none_or(|last| last == Activity::Idle) {
            return Ok(());
        }
        self.display.send(self.notices.features.progress(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notices(variables: &[(&str, &str)]) -> Notices {
        let features = TerminalFeatures::of(|name| {
            variables.iter().find(|(features, _)| *features == name).map(|(_, value)| (*value).to_owned())
        });
        Notices::new(features, &ScreenConfig::default(), "my\x1b]0;project\n")
    }

    const GHOSTTY: [(&str, &str); 2] = [("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")];

    #[test]
    fn the_title_says_what_goes_on_and_is_sent_once() {
        let mut notices = notices(&[("TERM", "xterm-256color")]);
        let began = Instant::now();
        let idle = notices.codes(Activity::Idle, began);
        assert_eq!(idle, "\x1b]2;headstart: my\\u{1b}]0;project \x07");
        assert_eq!(notices.codes(Activity::Idle, began), "");
        let works = notices.codes(Activity::Works, began);
        assert_eq!(works, "\x1b]2;headstart: my\\u{1b}]0;project , working\x07");
        assert!(!notices.codes(Activity::Idle, began + LONG / 2).contains("ended"));
    }

    #[test]
    fn somebody_is_called_who_is_known_to_look_elsewhere_or_after_a_very_long_turn() {
        for (focus, took, is_called) in [
            (Some(true), VERY_LONG * 2, false),
            (Some(false), LONG / 2, false),
            (Some(false), LONG * 2, true),
            (None, LONG * 2, false),
            (None, VERY_LONG * 2, true),
        ] {
            let mut notices = notices(&GHOSTTY);
            let began = Instant::now();
            notices.codes(Activity::Idle, began);
            notices.has_focus = focus;
            let works = notices.codes(Activity::Works, began);
            assert!(works.contains("\x1b]9;4;3\x07"), "{works:?}");
            let ended = notices.codes(Activity::Idle, began + took);
            assert!(ended.contains("\x1b]9;4;0\x07"), "{ended:?}");
            let called = ended.contains("\x07\x1b]777;notify;headstart;headstart: a turn has ended in my");
            assert_eq!(called, is_called, "{focus:?} {took:?} {ended:?}");
        }
    }

    #[test]
    fn a_question_calls_at_once_whoever_looks_elsewhere_and_nobody_who_does_not_want_it() {
        let mut asks = notices(&GHOSTTY);
        asks.on_focus(false);
        let began = Instant::now();
        asks.codes(Activity::Works, began);
        assert!(asks.codes(Activity::Asks, began).contains("a question waits in"));
        let mut silent = Notices { notify: false, title: false, ..notices(&GHOSTTY) };
        silent.on_focus(false);
        silent.codes(Activity::Works, began);
        assert_eq!(silent.codes(Activity::Asks, began), "\x1b]9;4;4\x07");
        let mut still = Notices { animations: false, title: false, ..notices(&GHOSTTY) };
        assert_eq!(still.codes(Activity::Works, began), "\x1b]9;4;0\x07");
    }
}
