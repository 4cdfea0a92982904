//! Random actions of a user and random delays of the model: the promises of a conversation hold for every sequence.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use headstart_agent::{Answer, Edit, Phase, Session, Subject};
use headstart_budget::policy::Mode;
use headstart_forked_query::{Message, ModelRequest};
use headstart_overlay_fs::{Choice, Keep};
use headstart_tool_gate::ApprovalMode;
use proptest::prelude::*;

use crate::world::{Setting, World, lock, text_of};

#[derive(Debug, Clone)]
enum Act {
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

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..DEEDS.len()).prop_map(Act::Submit),
        1 => (0..DEEDS.len()).prop_map(Act::Type),
        4 => Just(Act::Take),
        1 => Just(Act::Next),
        1 => Just(Act::Dismiss),
        4 => any::<u8>().prop_map(Act::Answer),
        2 => Just(Act::Interrupt),
        1 => any::<u8>().prop_map(Act::Mode),
        1 => any::<bool>().prop_map(Act::Background),
        1 => Just(Act::Clear),
        2 => Just(Act::Edit),
        1 => Just(Act::Remove),
        2 => any::<bool>().prop_map(Act::Hold),
        4 => any::<bool>().prop_map(Act::Release),
        4 => (0..2_000_u16).prop_map(Act::Pass),
        4 => Just(Act::Poll),
    ]
}

/// The user of a conversation, and the prompts that they have sent.
struct User {
    world: World,
    /// The prompts of which each must be answered, queued or given back.
    sent: Vec<String>,
    number: usize,
    is_off: bool,
}

impl User {
    fn new(setting: &Setting) -> Self {
        let world = World::new(setting);
        for deed in 0..40 {
            world.model.suggest(&format!("{} ahead {deed}|talk ahead {deed}", DEEDS[deed % DEEDS.len()]));
        }
        Self { world, sent: Vec::new(), number: 0, is_off: false }
    }

    fn act(&mut self, act: &Act) {
        let world = &mut self.world;
        let agent = world.agent.clone();
        match act {
            Act::Submit(deed) => {
                self.number += 1;
                let prompt = format!("{} number {}", DEEDS[*deed], self.number);
                if agent.submit(&prompt).is_ok() {
                    self.sent.push(prompt);
                }
            }
            Act::Type(deed) => agent.edited(DEEDS[*deed], Edit::Typed),
            Act::Take => {
                let shown = agent.view().suggestion.clone();
                if let Some(shown) = shown
                    && agent.take(&shown.text).is_ok()
                {
                    self.sent.push(shown.text);
                }
            }
            Act::Next => agent.next_suggestion(),
            Act::Dismiss => agent.dismiss(),
            Act::Answer(choice) => {
                let Some(question) = agent.view().question.clone() else { return };
                let answer = match (&*question.about, choice % 4) {
                    (Subject::Conflicts { conflicts, .. }, 0 | 1) => {
                        let keep = if choice % 4 == 0 { Keep::Yours } else { Keep::Work };
                        let choice = |conflict: &_| Choice { conflict: Clone::clone(conflict), keep };
                        Answer::Choices(conflicts.iter().map(choice).collect())
                    }
                    (_, 0 | 1) => Answer::Yes,
                    (_, 2) => Answer::Anew,
                    _ => Answer::No,
                };
                let _ = agent.answer(question.id, answer);
            }
            Act::Interrupt => self.interrupt(),
            Act::Mode(mode) => {
                use ApprovalMode::{AutoEdit, Default, Plan, Yolo};
                lock(&world.host.rules).mode = [Default, Plan, AutoEdit, Yolo][usize::from(mode % 4)];
                agent.rules_changed();
            }
            Act::Background(on) => {
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
            Act::Clear => {
                if agent.clear().is_ok() {
                    self.sent.clear();
                    lock(&world.model.turns).clear();
                }
            }
            Act::Edit => world.write("notes.txt", &format!("by the user {}\n", self.number)),
            Act::Remove => {
                world.tree.remove(&headstart_overlay_fs::WorkspacePath::parse("a.txt").unwrap());
            }
            Act::Hold(holds) => world.model.hold(*holds),
            Act::Release(newest) => world.model.release(*newest),
            Act::Pass(ms) => {
                world.pass(u64::from(*ms));
            }
            Act::Poll => {
                world.settle();
            }
        }
    }

    /// Interrupts. Afterwards no turn may begin by itself, and nothing may be written that was not being written
    /// already.
    fn interrupt(&mut self) {
        let world = &mut self.world;
        if world.agent.interrupt().is_err() {
            return;
        }
        world.settle();
        let (requests, tree) = (lock(&world.model.turns).len(), world.tree.snapshot());
        world.model.release(false);
        let view = world.pass(10);
        assert_eq!(lock(&world.model.turns).len(), requests, "a turn began by itself: {view:?}");
        assert_eq!(world.tree.snapshot(), tree, "something was written after it");
        assert!(view.queued.is_empty(), "{:?}", view.queued);
    }

    /// Lets everything come to its end, and answers each question with no.
    fn rest(&mut self) {
        self.world.model.hold(false);
        for _ in 0..60 {
            let view = self.world.settle();
            match &view.question {
                Some(question) => self.world.agent.answer(question.id, Answer::No).unwrap(),
                None if view.phase == Phase::Idle => return,
                None => {
                    self.world.pass(100);
                }
            }
        }
        panic!("it does not come to rest: {:?}", self.world.agent.view());
    }
}

/// Whether a request begins with these messages.
fn is_prefix(shorter: &[Message], longer: &ModelRequest) -> bool {
    longer.messages.starts_with(shorter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]
    // Row: S13
    #[test]
    fn what_is_promised_holds(acts in prop::collection::vec(act(), 1..60), candidates in 1..3_usize, depth in 1..3_u32) {
        let setting = Setting { candidates, parallel: candidates, depth, ..Setting::default() };
        let mut user = User::new(&setting);
        for act in &acts {
            let was_off = user.is_off;
            let before = user.world.model.asked.load(std::sync::atomic::Ordering::SeqCst);
            user.act(act);
            let asked = user.world.model.asked.load(std::sync::atomic::Ordering::SeqCst);
            prop_assert!(!(was_off && user.is_off) || asked == before, "a suggestion was asked for, and it is off");
            let view = user.world.agent.view();
            prop_assert!(view.question.is_none() || matches!(view.phase, Phase::Turn | Phase::Asking), "{:?}", view);
        }
        user.rest();
        let view = user.world.agent.view();

        // The updates, applied one after the other, must give the view.
        let items: Vec<_> = view.items.iter().map(|item| (**item).clone()).collect();
        let known: Vec<_> = user.world.known.values().cloned().collect();
        prop_assert_eq!(items, known);

        // Each request of a conversation must begin with the history of the one before.
        let turns = lock(&user.world.model.turns).clone();
        for pair in turns.windows(2) {
            let history = pair[0].messages.iter().rposition(|message| message.role == headstart_forked_query::Role::User);
            let history = &pair[0].messages[..history.unwrap_or_default()];
            prop_assert!(is_prefix(history, &pair[1]), "{:?} is no beginning of {:?}", pair[0].messages, pair[1].messages);
        }

        prop_assert!(view.queued.is_empty());

        // The session on disk must hold what the model knows.
        let kept = lock(&user.world.book.kept).clone();
        if !kept.is_empty() {
            let session = Session::read(kept.as_bytes()).unwrap();
            lock(&user.world.host.rules).mode = ApprovalMode::Yolo;
            user.world.say("talk at the end");
            let request = lock(&user.world.model.turns).last().cloned().unwrap();
            let (_, history) = request.messages.split_last().unwrap();
            prop_assert_eq!(&session.history, history);
        }

        // Each work must have exactly one outcome in the ledger, and each run exactly one line with its cost.
        let world = user.world.close();
        let ran: BTreeSet<_> = world.lines("speculation").iter().map(|line| line["id"].to_string()).collect();
        let mut decided = BTreeMap::<String, usize>::new();
        for line in world.lines("outcome") {
            *decided.entry(line["id"].to_string()).or_default() += 1;
        }
        prop_assert_eq!(ran.len(), world.lines("speculation").len(), "a run is written down twice");
        prop_assert!(decided.values().all(|times| *times == 1), "{:?}", decided);
        prop_assert!(ran.iter().all(|id| decided.contains_key(id)), "{:?} {:?}", ran, decided);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    /// Unless the conversation is cleared, every prompt that was sent must be in what the model reads next, or be given
    /// back as a draft.
    #[test]
    fn no_prompt_is_lost(acts in prop::collection::vec(act(), 1..50)) {
        let mut user = User::new(&Setting::default());
        let mut drafts = Vec::new();
        for act in acts.iter().filter(|act| !matches!(act, Act::Clear)) {
            user.act(act);
            drafts.extend(user.world.settle().draft.clone());
        }
        user.rest();
        drafts.extend(user.world.agent.view().draft.clone());
        lock(&user.world.host.rules).mode = ApprovalMode::Yolo;
        user.world.say("talk at the end");
        let turns = lock(&user.world.model.turns);
        let said: Vec<_> = turns.last().unwrap().messages.iter().map(text_of).collect();
        for prompt in &user.sent {
            let is_said = said.iter().any(|text| text.ends_with(prompt.as_str()));
            let is_given_back = drafts.iter().any(|draft| draft.text.lines().any(|line| line == prompt));
            prop_assert!(is_said || is_given_back, "{:?} is nowhere: {:?} {:?}", prompt, said, drafts);
        }
    }
}
