//! Conversations that go on in another process.

use std::sync::Arc;

use headstart_agent::{Item, Session};
use headstart_forked_query::Role;
use headstart_tool_gate::{ToolPolicies, ToolPolicy, ToolTable};

use crate::harness::{Harness, HarnessOptions, StoreBehaviour, lock, text_of};

/// A new world over what this one kept, as after it was closed or killed.
fn again(harness: Harness) -> Harness {
    let kept = lock(&harness.store.kept).clone();
    drop(harness);
    Harness::new(&HarnessOptions { kept, ..HarnessOptions::default() })
}

/// A resumed conversation shows everything that was said, and its next request begins with the same messages as before.
#[test]
fn a_conversation_goes_on_where_it_was() {
    let mut harness = Harness::new(&HarnessOptions::default());
    for prompt in ["talk", "edit made.txt", "fail now"] {
        harness.say(prompt);
    }
    let before = lock(&harness.model.turns).last().unwrap().clone();
    let mut harness = again(harness);
    let shown = harness.agent.view().items.len();
    assert_eq!(shown, 5, "two prompts, two answers and a call: {:?}", harness.agent.view().items);
    assert!(harness.known.is_empty(), "nothing of it is new");
    harness.say("talk on");
    let request = lock(&harness.model.turns).last().unwrap().clone();
    let history = &before.messages[..before.messages.len() - 1];
    assert!(request.messages.starts_with(history), "{request:?}");
    assert_eq!((request.system, request.tools), (before.system, before.tools));
    // A prompt that got no answer is not part of the conversation.
    assert_eq!(harness.prompts(), ["talk", "edit made.txt", "talk on"]);
    let harness = again(harness);
    assert_eq!(harness.agent.view().items.len(), 7);
}

/// Work that was taken belongs to the session, but work that was only done ahead does not.
#[test]
fn work_that_was_taken_is_part_of_it_and_what_was_only_ahead_is_not() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.model.suggest("edit other.txt");
    harness.agent.take("edit made.txt").unwrap();
    harness.advance(1_000);
    let harness = again(harness);
    let prompts: Vec<_> = harness
        .agent
        .view()
        .items
        .iter()
        .filter_map(|item| match &**item {
            Item::Prompt { text } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["talk", "talk more", "edit made.txt"]);
}

/// What the user has undone, and what the host has to say, reaches the model also if another process sends the next
/// prompt; after that it is said no more.
#[test]
fn what_the_model_does_not_know_yet_is_told_by_the_next_process() {
    let last_words = |harness: &Harness| {
        let turns = lock(&harness.model.turns);
        text_of(turns.last().unwrap().messages.last().unwrap())
    };
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("change notes.txt");
    harness.write("notes.txt", "one\n");
    harness.agent.files_changed();
    harness.settle();
    harness.agent.add_note("the user ran a command");
    harness.settle();
    let mut harness = again(harness);
    let mut same = again(harness);
    same.say("talk");
    let told = last_words(&same);
    assert!(told.contains("undone changes") && told.contains("- notes.txt"), "{told}");
    assert!(told.contains("the user ran a command") && told.ends_with("\n\ntalk"), "{told}");
    harness = again(same);
    harness.say("talk on");
    assert_eq!(last_words(&harness), "talk on");
}

/// What was cleared does not come back when the conversation is resumed.
#[test]
fn what_is_forgotten_stays_forgotten() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    harness.agent.clear().unwrap();
    harness.settle();
    harness.say("talk anew");
    let mut harness = again(harness);
    harness.say("talk on");
    assert_eq!(harness.prompts(), ["talk anew", "talk on"]);
}

/// A tool that is excluded in the middle of a conversation is still offered, because another list of tools would change
/// the beginning of every request. A new conversation does not offer it.
#[test]
fn a_tool_that_is_excluded_meanwhile_is_offered_until_the_conversation_begins_anew() {
    let offers = |harness: &Harness| {
        let turns = lock(&harness.model.turns);
        turns.last().unwrap().tools.iter().any(|tool| tool.name == "grep")
    };
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    let table = ToolTable { tools: vec![("grep".to_owned(), ToolPolicy::Exclude)], ..ToolTable::default() };
    let policies = ToolPolicies::new(table, ToolTable::default(), &[]).unwrap();
    lock(&harness.host.rules).tool_policies = policies;
    harness.agent.rules_changed();
    harness.say("talk more");
    assert!(offers(&harness), "another list is another beginning of every request");
    harness.agent.clear().unwrap();
    harness.settle();
    harness.say("talk anew");
    assert!(!offers(&harness));
}

/// If the program ends in the middle of a turn, the session has the turn as far as it came.
#[test]
fn a_turn_that_the_end_of_the_program_interrupts_is_kept_as_far_as_it_came() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    harness.agent.submit("read notes.txt").unwrap();
    harness.settle();
    harness.model.release(false);
    harness.settle();
    let harness = harness.close();
    let session = Session::read(lock(&harness.store.kept).as_bytes()).unwrap();
    assert_eq!(session.title, "read notes.txt");
    assert_eq!(session.history.len(), 3, "the prompt, the call and its result: {:?}", session.history);
}

#[test]
fn a_conversation_has_the_title_that_its_user_gave() {
    for before_the_first in [true, false] {
        let mut harness = Harness::new(&HarnessOptions::default());
        if before_the_first {
            harness.agent.set_title("the parser");
        }
        harness.say("talk");
        if !before_the_first {
            harness.agent.set_title("the parser");
        }
        harness.settle();
        let session = Session::read(lock(&harness.store.kept).as_bytes()).unwrap();
        assert_eq!((session.title.as_str(), session.id.as_str()), ("the parser", "chat"));
    }
}

/// A conversation of another workspace can go on here; the user and the model are told once that it was elsewhere.
#[test]
fn a_conversation_of_another_workspace_goes_on_and_both_are_told_so() {
    let mut harness = Harness::new(&HarnessOptions { workspace: "/elsewhere", ..HarnessOptions::default() });
    harness.say("talk");
    let kept = lock(&harness.store.kept).clone();
    assert!(
        kept.starts_with(r#"{"type":"session","#) && kept.contains(r#""workspace":"/elsewhere""#),
        "{kept}"
    );
    let mut harness = again(harness);
    let told = |harness: &Harness| {
        let is_told = |item: &Item| matches!(item, Item::Trouble { text } if text.contains("/elsewhere") && text.contains("/work"));
        harness.agent.view().items.iter().filter(|item| is_told(item)).count()
    };
    assert_eq!(told(&harness), 1, "{:?}", harness.agent.view().items);
    harness.say("talk on");
    let request = lock(&harness.model.turns).last().unwrap().clone();
    let last = request.messages.iter().rfind(|message| message.role == Role::User).map(text_of).unwrap();
    assert!(last.contains("/elsewhere") && last.ends_with("talk on"), "{last}");
    // Nothing is told if the session is of this workspace, or if it does not say of which it is.
    let without = kept.replace(r#","workspace":"/elsewhere""#, "");
    assert_ne!(without, kept);
    for (workspace, kept) in [("/elsewhere", kept), ("/work", without)] {
        let harness = Harness::new(&HarnessOptions { workspace, kept, ..HarnessOptions::default() });
        assert_eq!(told(&harness), 0);
    }
}

/// If the program is killed in a turn, the next one knows the prompt, what was done and what was cut, and tells its user
/// and the model.
#[test]
fn a_turn_in_which_the_program_is_killed_is_known_to_the_next_one() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    harness.model.hold(true);
    harness.agent.submit("calls write made.txt, read notes.txt").unwrap();
    harness.settle();
    harness.model.release(false);
    harness.settle();
    assert!(harness.file("made.txt").is_some());
    let mut later = again(harness);
    let told = "the last turn was cut off; until then it had written made.txt";
    let is_told = |item: &Arc<Item>| matches!(&**item, Item::Trouble { text } if text == told);
    assert_eq!(later.agent.view().items.iter().filter(|item| is_told(item)).count(), 1);
    later.say("talk on");
    let request = lock(&later.model.turns).last().unwrap().clone();
    let [.., asked, answer, results, last] = &request.messages[..] else { panic!("{request:?}") };
    assert_eq!(text_of(asked), "calls write made.txt, read notes.txt");
    assert_eq!((answer.tool_calls().count(), results.parts.len()), (2, 2));
    assert!(text_of(last).contains(told) && text_of(last).ends_with("talk on"), "{last:?}");
    // It is told once.
    let later = again(later);
    assert!(!later.agent.view().items.iter().any(is_told));
}

/// Whatever happens to the program while a call runs, the next one knows of it, because a call only runs once it is
/// kept that it begins.
#[test]
fn no_call_changes_anything_before_it_is_kept_that_it_begins() {
    let session = StoreBehaviour::NeverAnswers;
    let mut harness = Harness::new(&HarnessOptions { session, ..HarnessOptions::default() });
    harness.agent.submit("edit made.txt").unwrap();
    harness.settle();
    assert_eq!(harness.file("made.txt"), None);
    harness.store.answer();
    harness.settle();
    assert!(harness.file("made.txt").is_some());
    let kept = lock(&harness.store.kept).clone();
    let place = |line: &str| kept.find(line).unwrap_or_else(|| panic!("no {line}: {kept}"));
    assert!(place(r#""type":"begun""#) < place(r#""type":"toolResult""#), "{kept}");
}

/// So it is with work that ran ahead: it is applied once it is kept that it is about to be.
#[test]
fn no_work_is_applied_before_it_is_kept_that_it_is_about_to_be() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.settle();
    *lock(&harness.store.session) = StoreBehaviour::NeverAnswers;
    harness.agent.take("edit made.txt").unwrap();
    harness.settle();
    assert_eq!(harness.file("made.txt"), None);
    harness.store.answer();
    harness.settle();
    assert!(harness.file("made.txt").is_some());
    let kept = lock(&harness.store.kept).clone();
    let line = "{\"type\":\"accepting\"}\n";
    let end = kept.find(line).unwrap() + line.len();
    let told =
        "the last turn was cut off; it was applying work that had run ahead, and may have changed files";
    let tells = |kept: &str| {
        let harness = Harness::new(&HarnessOptions { kept: kept.to_owned(), ..HarnessOptions::default() });
        harness
            .agent
            .view()
            .items
            .iter()
            .any(|item| matches!(&**item, Item::Trouble { text } if text == told))
    };
    assert!(tells(&kept[..end]) && !tells(&kept), "{kept}");
}
