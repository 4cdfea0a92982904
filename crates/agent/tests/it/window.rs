//! Conversations that are longer than what their model sees at once.

use std::sync::atomic::Ordering;

use headstart_agent::{ActionError, Compaction, Item, Phase, Session};
use headstart_budget::policy::{Mode, Tariff};
use headstart_context::Window;
use headstart_forked_query::{Message, ModelEvent, ModelRequest, Part, Prices, Role, check_pairing};
use headstart_speculation::{Ending, Limit};
use serde_json::json;

use crate::harness::{Harness, HarnessOptions, call, lock};

const SEES: u64 = 16_000;

/// A conversation with a model that refuses requests which are too long. With `knows` the program around it knows the
/// limit too.
fn harness(knows: bool) -> Harness {
    let window = knows.then_some(Window { tokens: SEES, ..Window::default() });
    let harness =
        Harness::new(&HarnessOptions { window, background: Mode::Off, ..HarnessOptions::default() });
    harness.model.sees.store(SEES, Ordering::SeqCst);
    let line = "a line of a file that is read again and again\n";
    harness.write("big.txt", &line.repeat(120));
    harness.write("huge.txt", &line.repeat(1_000));
    harness
}

fn compactions(harness: &Harness) -> Vec<&Compaction> {
    let items = harness.known.values().filter_map(|item| match item {
        Item::Compacted(compacted) => Some(compacted),
        _ => None,
    });
    items.collect()
}

fn last_ending(harness: &Harness) -> &Ending {
    let mut endings = harness.known.values().filter_map(|item| match item {
        Item::End { ending } => Some(ending),
        _ => None,
    });
    endings.next_back().expect("a turn has ended")
}

/// The requests of turns. They are told apart by `thinking`, which requests for summaries do not ask for.
fn turns(harness: &Harness) -> Vec<ModelRequest> {
    lock(&harness.model.turns).iter().filter(|request| request.thinking).cloned().collect()
}

fn begins_with(longer: &[Message], shorter: &[Message]) -> bool {
    longer.get(..shorter.len()) == Some(shorter)
}

/// If another model has a smaller window, the conversation is shortened in its first turn.
#[test]
fn another_models_window_counts_as_soon_as_it_answers() {
    let mut harness = Harness::new(&HarnessOptions { background: Mode::Off, ..HarnessOptions::default() });
    harness.write("big.txt", &"a line of a file that is read again and again\n".repeat(120));
    (0..8).for_each(|_| drop(harness.say("read big.txt")));
    assert!(compactions(&harness).is_empty(), "nobody knows a limit");
    let window = Window { tokens: 8_000, ..Window::default() };
    harness.agent.set_model("n", Tariff::new("n", Prices::default()), Some(window));
    harness.say("talk");
    assert!(!compactions(&harness).is_empty());
}

#[test]
fn fifty_turns_fit_into_a_small_window() {
    turns_fit(50, &WITH_HUGE, 17);
}

#[test]
#[ignore = "takes several seconds; .ci/long runs it"]
fn three_hundred_turns_fit_into_a_small_window() {
    turns_fit(300, &WITH_HUGE, 17);
    turns_fit(300, &ORDINARY, 18);
}

#[test]
fn ordinary_turns_find_nine_in_ten_requests_in_the_cache() {
    turns_fit(50, &ORDINARY, 18);
}

/// Prompts of which each reads something that fits into the window.
const ORDINARY: [&str; 4] = ["read big.txt", "talk about it", "edit made.txt", "read notes.txt"];
/// Every fifth turn reads a file that alone is longer than what the model sees, so the conversation has to be shortened
/// in that turn. Of every nine requests one is therefore not in the cache.
const WITH_HUGE: [&str; 5] =
    ["read big.txt", "talk about it", "edit made.txt", "read notes.txt", "read huge.txt"];

/// Plays these prompts. At least so many `twentieths` of the requests must begin with the request before.
fn turns_fit(count: usize, prompts: &[&str], twentieths: usize) {
    let mut harness = harness(true);
    for turn in 0..count {
        harness.say(prompts[turn % prompts.len()]);
        assert_eq!(*last_ending(&harness), Ending::Completed, "turn {turn}");
    }
    let requests = turns(&harness);
    assert!(count < requests.len());
    let longest = requests.iter().map(|request| serde_json::to_string(request).unwrap_or_default().len() / 4);
    assert!(longest.max() <= usize::try_from(SEES).ok());
    let hits = requests.windows(2).filter(|pair| begins_with(&pair[1].messages, &pair[0].messages)).count();
    // The cache may be lost once each time the conversation is shortened, and never in between.
    let losses = requests.len() - 1 - hits;
    assert!(losses <= compactions(&harness).len(), "{losses} of {}", requests.len());
    assert!(
        requests.len() * twentieths / 20 <= hits,
        "{hits} of {} requests begin with the one before",
        requests.len()
    );
    let has_huge = prompts.contains(&"read huge.txt");
    assert!(!has_huge || compactions(&harness).iter().any(|compacted| compacted.summary.is_some()));
    assert!(compactions(&harness).iter().all(|compacted| compacted.after < compacted.before));
    // The session holds the history as the model knows it, and all prompts that were shown.
    let kept = Session::read(lock(&harness.store.kept).as_bytes()).expect("it was kept");
    assert_eq!(kept.prompts.len(), count);
    let last = requests.last().expect("there are some");
    assert!(begins_with(&kept.history, &last.messages));
    check_pairing(&kept.history).expect("a legal history");
}

/// A single turn that is too long is summed up while it runs. The session still has all of its calls.
#[test]
fn one_long_turn_goes_on_with_a_summary_of_itself() {
    let mut harness = harness(true);
    harness.model.left.store(60, Ordering::SeqCst);
    harness.say("loop over it");
    assert_eq!(*last_ending(&harness), Ending::Completed);
    assert!(1 < compactions(&harness).len());
    let requests = turns(&harness);
    assert!(60 < requests.len());
    for request in &requests {
        let words = request.messages[0].parts.last();
        assert_eq!(words, Some(&Part::Text { text: "loop over it".to_owned() }), "the prompt stays");
    }
    let hits = requests.windows(2).filter(|pair| begins_with(&pair[1].messages, &pair[0].messages)).count();
    assert!(requests.len() * 8 / 10 <= hits, "{hits} of {}", requests.len());
    let kept = Session::read(lock(&harness.store.kept).as_bytes()).expect("it was kept");
    assert_eq!(kept.prompts, ["loop over it"]);
    let calls = kept.items().iter().filter(|item| matches!(item, Item::Call(_))).count();
    assert_eq!(calls, 60, "the session has all of it");
    assert!(begins_with(&kept.history, &requests[requests.len() - 1].messages));
}

/// A model that reads what fills its window, and reads it again once it was cut, would do so for ever.
#[test]
fn a_turn_whose_conversation_cannot_be_kept_short_ends() {
    for (prompt, sees, most) in [("insist", 8_000, 8), ("wander", 8_000, 70), ("insist", 5_000, 8)] {
        let window = Window { tokens: sees, ..Window::default() };
        let options =
            HarnessOptions { window: Some(window), background: Mode::Off, ..HarnessOptions::default() };
        let mut harness = Harness::new(&options);
        harness.model.sees.store(sees, Ordering::SeqCst);
        harness.write("huge.txt", &"a line of a file that is read again and again\n".repeat(300));
        harness.say(prompt);
        match last_ending(&harness) {
            Ending::Exhausted { limit: Limit::Repeated } => {}
            Ending::Failed { error, code: Some(code), .. } if code == "window_exceeded" => {
                assert!(error.contains("at once") && error.contains("ask for"), "{prompt}: {error}");
            }
            other => panic!("{prompt}: {other:?}"),
        }
        let asked = lock(&harness.model.turns).len();
        assert!(asked <= most, "{prompt}: {asked} requests");
        // The conversation goes on, and the next turn may be long again.
        harness.say("talk on");
        assert_eq!(*last_ending(&harness), Ending::Completed, "{prompt}");
    }
}

/// What a model answers may be no summary. What it would have replaced is left out, and nobody asks for ever.
#[test]
fn an_answer_that_is_no_summary_is_asked_for_once() {
    let words = |text: String| vec![ModelEvent::Text(text)];
    let read = call("read_file", &json!({ "file_path": "big.txt" }));
    for (case, answer) in [
        ("nothing", Vec::new()),
        ("only blanks", words(" \n".to_owned())),
        ("too much", words("and so on, ".repeat(20_000))),
        ("a call", vec![read.clone()]),
        ("words and a call", vec![ModelEvent::Text("I look again.".to_owned()), read]),
    ] {
        let window = Window { tokens: 6_000, ..Window::default() };
        let mut harness = Harness::new(&HarnessOptions {
            window: Some(window),
            background: Mode::Off,
            ..HarnessOptions::default()
        });
        harness.model.sees.store(6_000, Ordering::SeqCst);
        *lock(&harness.model.summary) = Some(answer);
        for turn in 0..12 {
            harness.say(&format!("talk {turn} {}", "of many words ".repeat(80)));
            assert_eq!(*last_ending(&harness), Ending::Completed, "{case}, turn {turn}");
        }
        let shorter = compactions(&harness);
        assert!((1..=6).contains(&shorter.len()), "{case}: {}", shorter.len());
        assert!(shorter.iter().all(|compacted| compacted.after < compacted.before), "{case}");
        let asked = lock(&harness.model.turns).iter().filter(|request| !request.thinking).count();
        assert_eq!(asked, shorter.len(), "{case}");
        let is_told = |compacted: &&Compaction| compacted.summary.is_some();
        assert_eq!(shorter.iter().any(is_told), case == "too much", "{case}");
    }
}

/// A server may say how much it sees only when it is asked for a summary.
#[test]
fn a_question_that_is_refused_is_asked_again_with_less() {
    let mut harness = Harness::new(&HarnessOptions { background: Mode::Off, ..HarnessOptions::default() });
    harness.model.sees.store(100_000, Ordering::SeqCst);
    for turn in 0..12 {
        harness.say(&format!("talk {turn} {}", "of many words ".repeat(80)));
    }
    harness.model.sees.store(4_096, Ordering::SeqCst);
    harness.agent.compact().expect("nothing goes on");
    assert_eq!(harness.settle().phase, Phase::Idle);
    let [compacted] = compactions(&harness)[..] else { panic!("{:?}", harness.known.values().last()) };
    assert!(compacted.summary.is_some());
    assert_eq!(harness.agent.window_use().window, Some(4_096));
    harness.say("talk on");
    assert_eq!(*last_ending(&harness), Ending::Completed);
}

/// If the provider refuses a request as too long, the conversation is shortened and sent once more. Here the size of
/// the window is unknown.
#[test]
fn a_provider_that_says_it_is_too_long_is_asked_once_more() {
    let mut harness = harness(false);
    for turn in 0..30 {
        harness.say("read big.txt");
        assert_eq!(*last_ending(&harness), Ending::Completed, "turn {turn}");
    }
    assert!(!compactions(&harness).is_empty());
    // A prompt that cannot be shortened is refused with both numbers, and is in the line again.
    let words = "word ".repeat(20_000);
    let view = harness.say(&words);
    let Ending::Failed { error, code, .. } = last_ending(&harness) else { panic!("{view:?}") };
    assert_eq!(code.as_deref(), Some("window_exceeded"));
    assert!(error.contains("tokens") && error.contains("sees"), "{error}");
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some(words.as_str()));
    harness.say("talk on");
    assert_eq!(*last_ending(&harness), Ending::Completed);
}

/// The user may ask for a summary at any time when nothing else goes on, and may interrupt it.
#[test]
fn its_user_may_have_it_summed_up() {
    let mut harness = harness(true);
    assert_eq!(harness.agent.compact(), Err(ActionError::Empty));
    for prompt in ["talk 1", "talk 2", "talk 3", "talk 4", "talk 5", "talk 6"] {
        harness.say(prompt);
    }
    harness.model.hold(true);
    harness.agent.compact().expect("nothing goes on");
    assert_eq!(harness.settle().phase, Phase::Compacting);
    assert_eq!(harness.agent.compact(), Err(ActionError::Busy));
    // A prompt that is sent while the summary is written runs after it.
    harness.agent.submit("talk 7").expect("it waits");
    harness.model.hold(false);
    harness.settle();
    let all = lock(&harness.model.turns).clone();
    let [.., summing, after] = &all[..] else { panic!("{all:?}") };
    assert!(!summing.thinking && summing.max_output_tokens == Some(2_000));
    assert!(begins_with(&summing.messages, &all[5].messages), "the provider has its beginning in the cache");
    let said: Vec<_> = after.messages.iter().filter(|message| message.role == Role::User).collect();
    assert_eq!(said.len(), 5);
    let [Part::Text { text: summary }, Part::Text { text: first }] = &said[0].parts[..] else {
        panic!("{said:?}")
    };
    assert!(summary.starts_with("[Summary so far") && first == "talk 3");

    harness.model.hold(true);
    harness.agent.compact().expect("nothing goes on");
    harness.settle();
    harness.agent.interrupt().expect("a summary is being written");
    harness.model.hold(false);
    assert_eq!(harness.settle().phase, Phase::Idle);
    assert_eq!(compactions(&harness).len(), 1);
}

/// A local server may see no more than this. It says so when it refuses a request, and the conversation goes on.
#[test]
fn a_conversation_goes_on_in_a_window_of_four_thousand_tokens() {
    let mut harness = Harness::new(&HarnessOptions { background: Mode::Off, ..HarnessOptions::default() });
    harness.model.sees.store(4_096, Ordering::SeqCst);
    let lines = "a line of a file that is read again and again\n".repeat(40);
    harness.write("some.txt", &lines);
    for turn in 0..20 {
        let prompt = if turn % 3 == 2 {
            "read some.txt".to_owned()
        } else {
            format!("talk {turn} {}", "of many words ".repeat(20))
        };
        harness.say(&prompt);
        assert_eq!(*last_ending(&harness), Ending::Completed, "turn {turn}");
    }
    assert!(!compactions(&harness).is_empty());
    let summing: Vec<_> =
        lock(&harness.model.turns).iter().filter_map(|request| request.max_output_tokens).collect();
    assert!(!summing.is_empty() && summing.iter().all(|tokens| *tokens <= 512), "{summing:?}");
}
