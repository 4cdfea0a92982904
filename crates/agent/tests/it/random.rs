//! Random actions of a user and random delays of the model: the promises of a conversation hold for every sequence.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use headstart_agent::{EditKind, Phase, Session, Subject, UserAnswer};
use headstart_budget::policy::Mode;
use headstart_forked_query::{Message, ModelRequest};
use headstart_overlay_fs::{Choice, Keep};
use headstart_tool_gate::ApprovalMode;
use proptest::prelude::*;

use crate::harness::{Harness, HarnessOptions, lock, text_of};

#[derive(Debug, Clone)]
enum Action {
    Submit(usize),
    Type(usize),
    Take,
    Next,
    Dismiss,
    Answer(u8),
    Interrupt,
    Mode(u8),
    Background(bool),
    Clear,
    Edit,
    Remove,
    Hold(bool),
    Release(bool),
    Pass(u16),
    Poll,
}

/// What prompts ask for. Each prompt has a number behind it when it is sent, so that it can be found again.
const DEEDS: [&str; 8] =
    ["talk", "read notes.txt", "edit a.txt", "edit b.txt", "change notes.txt", "run", "fail", "panic"];

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..DEEDS.len()).prop_map(Action::Submit),
        1 => (0..DEEDS.len()).prop_map(Action::Type),
        4 => Just(Action::Take),
        1 => Just(Action::Next),
        1 => Just(Action::Dismiss),
        4 => any::<u8>().prop_map(Action::Answer),
        2 => Just(Action::Interrupt),
        1 => any::<u8>().prop_map(Action::Mode),
        1 => any::<bool>().prop_map(Action::Background),
        1 => Just(Action::Clear),
        2 => Just(Action::Edit),
        1 => Just(Action::Remove),
        2 => any::<bool>().prop_map(Action::Hold),
        4 => any::<bool>().prop_map(Action::Release),
        4 => (0..2_000_u16).prop_map(Action::Pass),
        4 => Just(Action::Poll),
    ]
}

/// The user of a conversation, and the prompts that they have sent.
struct User {
    harness: Harness,
    /// The prompts of which each must be answered, queued or given back.
    sent: Vec<String>,
    number: usize,
    is_off: bool,
}

impl User {
    fn new(setting: &HarnessOptions) -> Self {
        let harness = Harness::new(setting);
        for deed in 0..40 {
            harness.model.suggest(&format!("{} ahead {deed}|talk ahead {deed}", DEEDS[deed % DEEDS.len()]));
        }
        Self { harness, sent: Vec::new(), number: 0, is_off: false }
    }

    fn action(&mut self, action: &Action) {
        let harness = &mut self.harness;
        let agent = harness.agent.clone();
        match action {
            Action::Submit(deed) => {
                self.number += 1;
                let prompt = format!("{} number {}", DEEDS[*deed], self.number);
                if agent.submit(&prompt).is_ok() {
                    self.sent.push(prompt);
                }
            }
            Action::Type(deed) => agent.edited(DEEDS[*deed], EditKind::Typed),
            Action::Take => {
                let shown = agent.view().suggestion.clone();
                if let Some(shown) = shown
                    && agent.take(&shown.text).is_ok()
                {
                    self.sent.push(shown.text);
                }
            }
            Action::Next => agent.next_suggestion(),
            Action::Dismiss => agent.dismiss(),
            Action::Answer(choice) => {
                let Some(question) = agent.view().question.clone() else { return };
                let answer = match (&*question.about, choice % 4) {
                    (Subject::Conflicts { conflicts, .. }, 0 | 1) => {
                        let keep = if choice % 4 == 0 { Keep::Yours } else { Keep::Work };
                        let choice = |conflict: &_| Choice { conflict: Clone::clone(conflict), keep };
                        UserAnswer::Choices(conflicts.iter().map(choice).collect())
                    }
                    (_, 0 | 1) => UserAnswer::Yes,
                    (_, 2) => UserAnswer::Anew,
                    _ => UserAnswer::No,
                };
                let _ = agent.answer(question.id, answer);
            }
            Action::Interrupt => self.interrupt(),
            Action::Mode(mode) => {
                use ApprovalMode::{AutoEdit, Default, Plan, Yolo};
                lock(&harness.host.rules).mode = [Default, Plan, AutoEdit, Yolo][usize::from(mode % 4)];
                agent.rules_changed();
            }
            Action::Background(on) => {
                agent.set_background(if *on { Mode::Always } else { Mode::Off });
                self.is_off = !on;
                if self.is_off {
                    let view = agent.view();
                    assert!(
                        view.suggestion.is_none() && view.ahead.is_none(),
                        "what ran is closed by the same input"
                    );
                }
            }
            Action::Clear => {
                if agent.clear().is_ok() {
                    self.sent.clear();
                    lock(&harness.model.turns).clear();
                }
            }
            Action::Edit => harness.write("notes.txt", &format!("by the user {}\n", self.number)),
            Action::Remove => {
                harness.tree.remove(&headstart_overlay_fs::WorkspacePath::parse("a.txt").unwrap());
            }
            Action::Hold(holds) => harness.model.hold(*holds),
            Action::Release(newest) => harness.model.release(*newest),
            Action::Pass(ms) => {
                harness.advance(u64::from(*ms));
            }
            Action::Poll => {
                harness.settle();
            }
        }
    }

    /// Interrupts. Afterwards no turn may begin by itself, and nothing may be written that was not being written
    /// already.
    fn interrupt(&mut self) {
        let harness = &mut self.harness;
        if harness.agent.interrupt().is_err() {
            return;
        }
        harness.settle();
        let (requests, tree) = (lock(&harness.model.turns).len(), harness.tree.snapshot());
        harness.model.release(false);
        let view = harness.advance(10);
        assert_eq!(lock(&harness.model.turns).len(), requests, "a turn began by itself: {view:?}");
        assert_eq!(harness.tree.snapshot(), tree, "something was written after it");
        assert!(view.queued.is_empty(), "{:?}", view.queued);
    }

    /// Lets everything come to its end, and answers each question with no.
    fn rest(&mut self) {
        self.harness.model.hold(false);
        for _ in 0..60 {
            let view = self.harness.settle();
            match &view.question {
                Some(question) => self.harness.agent.answer(question.id, UserAnswer::No).unwrap(),
                None if view.phase == Phase::Idle => return,
                None => {
                    self.harness.advance(100);
                }
            }
        }
        panic!("it does not come to rest: {:?}", self.harness.agent.view());
    }
}

/// Whether a request begins with these messages.
fn is_prefix(shorter: &[Message], longer: &ModelRequest) -> bool {
    longer.messages.starts_with(shorter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]
    #[test]
    fn what_is_promised_holds(acts in prop::collection::vec(action(), 1..60), candidates in 1..3_usize) {
        let setting = HarnessOptions { candidates, ..HarnessOptions::default() };
        let mut user = User::new(&setting);
        for action in &acts {
            let was_off = user.is_off;
            let before = user.harness.model.asked.load(std::sync::atomic::Ordering::SeqCst);
            user.action(action);
            let asked = user.harness.model.asked.load(std::sync::atomic::Ordering::SeqCst);
            prop_assert!(!(was_off && user.is_off) || asked == before, "a suggestion was asked for, and it is off");
            let view = user.harness.agent.view();
            prop_assert!(view.question.is_none() || matches!(view.phase, Phase::Turn | Phase::Asking), "{:?}", view);
        }
        user.rest();
        let view = user.harness.agent.view();

        // The updates, applied one after the other, must give the view.
        let items: Vec<_> = view.items.iter().map(|item| (**item).clone()).collect();
        let known: Vec<_> = user.harness.known.values().cloned().collect();
        prop_assert_eq!(items, known);

        // Each request of a conversation must begin with the history of the one before.
        let turns = lock(&user.harness.model.turns).clone();
        for pair in turns.windows(2) {
            let history = pair[0].messages.iter().rposition(|message| message.role == headstart_forked_query::Role::User);
            let history = &pair[0].messages[..history.unwrap_or_default()];
            prop_assert!(is_prefix(history, &pair[1]), "{:?} is no beginning of {:?}", pair[0].messages, pair[1].messages);
        }

        prop_assert!(view.queued.is_empty());

        // The session on disk must hold what the model knows.
        let kept = lock(&user.harness.store.kept).clone();
        if !kept.is_empty() {
            let session = Session::read(kept.as_bytes()).unwrap();
            lock(&user.harness.host.rules).mode = ApprovalMode::Yolo;
            user.harness.say("talk at the end");
            let request = lock(&user.harness.model.turns).last().cloned().unwrap();
            let (_, history) = request.messages.split_last().unwrap();
            prop_assert_eq!(&session.history, history);
        }

        // Each work must have exactly one outcome in the ledger, and each run exactly one line with its cost.
        let harness = user.harness.close();
        let ran: BTreeSet<_> = harness.lines("speculation").iter().map(|line| line["id"].to_string()).collect();
        let mut decided = BTreeMap::<String, usize>::new();
        for line in harness.lines("outcome") {
            *decided.entry(line["id"].to_string()).or_default() += 1;
        }
        prop_assert_eq!(ran.len(), harness.lines("speculation").len(), "a run is written down twice");
        prop_assert!(decided.values().all(|times| *times == 1), "{:?}", decided);
        prop_assert!(ran.iter().all(|id| decided.contains_key(id)), "{:?} {:?}", ran, decided);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    /// Unless the conversation is cleared, every prompt that was sent must be in what the model reads next, or be given
    /// back as a draft.
    #[test]
    fn no_prompt_is_lost(acts in prop::collection::vec(action(), 1..50)) {
        let mut user = User::new(&HarnessOptions::default());
        let mut drafts = Vec::new();
        for action in acts.iter().filter(|action| !matches!(action, Action::Clear)) {
            user.action(action);
            drafts.extend(user.harness.settle().draft.clone());
        }
        user.rest();
        drafts.extend(user.harness.agent.view().draft.clone());
        lock(&user.harness.host.rules).mode = ApprovalMode::Yolo;
        user.harness.say("talk at the end");
        let turns = lock(&user.harness.model.turns);
        let said: Vec<_> = turns.last().unwrap().messages.iter().map(text_of).collect();
        for prompt in &user.sent {
            let is_said = said.iter().any(|text| text.ends_with(prompt.as_str()));
            let is_given_back = drafts.iter().any(|draft| draft.text.lines().any(|line| line == prompt));
            prop_assert!(is_said || is_given_back, "{:?} is nowhere: {:?} {:?}", prompt, said, drafts);
        }
    }
}
