//! What the model knows of a file lasts as long as the conversation: it does not replace what it has not seen.

use headstart_agent::Item;
use headstart_forked_query::ToolOutcome;
use headstart_overlay_fs::WorkspacePath;
use headstart_speculation::Ending;

use crate::harness::{Harness, HarnessOptions, lock};

/// The result of the call that was shown last.
fn last_result(harness: &Harness) -> Result<(), String> {
    let outcome = harness.known.values().rev().find_map(|item| match item {
        Item::Call(call) => call.outcome.clone(),
        _ => None,
    });
    match outcome {
        Some(ToolOutcome::Error(error)) => Err(error),
        Some(ToolOutcome::Output(_)) => Ok(()),
        None => panic!("no call has a result"),
    }
}

const CHANGED: &str = "notes.txt changed meanwhile; read it again";
const SAVED: &str = "one\na line of the user's\n";

#[test]
fn what_the_user_saves_between_two_turns_is_not_replaced() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("read notes.txt");
    harness.write("notes.txt", SAVED);
    harness.say("edit notes.txt");
    assert_eq!(
        (last_result(&harness), harness.file("notes.txt").as_deref()),
        (Err(CHANGED.to_owned()), Some(SAVED))
    );
    harness.say("read notes.txt");
    harness.say("edit notes.txt");
    assert_eq!(
        (last_result(&harness), harness.file("notes.txt").as_deref()),
        (Ok(()), Some("edit notes.txt\n"))
    );
    // What it wrote itself it knows.
    harness.say("edit notes.txt again");
    assert_eq!(harness.file("notes.txt").as_deref(), Some("edit notes.txt again\n"));
}

#[test]
fn a_file_that_was_never_read_is_not_replaced() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("edit other.txt");
    let refused = last_result(&harness).unwrap_err();
    assert!(refused.starts_with("other.txt has content that you have not seen; read it again"), "{refused}");
    assert_eq!(harness.file("other.txt").as_deref(), Some("other\n"));
}

/// No reading shows a binary file, so what is said does not send the model there.
#[test]
fn a_binary_file_is_not_replaced_and_what_is_said_helps() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.write("other.txt", "a\0b");
    let way_on =
        "other.txt is a binary file (3 bytes), and not replaced by text; if it is to be, remove it first";
    harness.say("edit other.txt");
    assert_eq!(last_result(&harness), Err(way_on.to_owned()));
    harness.say("read other.txt");
    harness.say("edit other.txt");
    assert_eq!(last_result(&harness), Err(way_on.to_owned()));
    assert_eq!(harness.file("other.txt").as_deref(), Some("a\0b"));
    harness.tree.remove(&WorkspacePath::parse("other.txt").unwrap());
    harness.say("edit other.txt");
    assert_eq!(
        (last_result(&harness), harness.file("other.txt").as_deref()),
        (Ok(()), Some("edit other.txt\n"))
    );
}

/// An edit names the text that it replaces, so it takes nothing away that the model has not seen.
#[test]
fn an_edit_of_one_place_leaves_what_the_user_saved_in_another() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("read notes.txt");
    harness.write("notes.txt", SAVED);
    harness.say("change notes.txt");
    assert_eq!(harness.file("notes.txt").as_deref(), Some("changed\na line of the user's\n"));
}

#[test]
fn another_process_knows_what_this_one_has_read() {
    for (saved, expected) in [(None, Ok(())), (Some(SAVED), Err(CHANGED.to_owned()))] {
        let mut harness = Harness::new(&HarnessOptions::default());
        harness.say("read notes.txt");
        let kept = lock(&harness.store.kept).clone();
        let mut later = Harness::new(&HarnessOptions { kept, ..HarnessOptions::default() });
        if let Some(text) = saved {
            later.write("notes.txt", text);
        }
        later.say("edit notes.txt");
        assert_eq!(last_result(&later), expected);
    }
}

/// Nobody is asked about a write that would be refused.
#[test]
fn nobody_is_asked_about_a_write_over_what_the_model_has_not_seen() {
    let mode = headstart_tool_gate::ApprovalMode::Default;
    let mut harness = Harness::new(&HarnessOptions { mode, ..HarnessOptions::default() });
    harness.say("read notes.txt");
    harness.write("notes.txt", SAVED);
    let view = harness.say("edit notes.txt");
    assert_eq!((view.question.clone(), last_result(&harness)), (None, Err(CHANGED.to_owned())));
}

#[test]
fn work_ahead_does_not_replace_what_the_user_saved_before_it() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("read notes.txt");
    harness.write("notes.txt", SAVED);
    harness.model.suggest("edit notes.txt");
    harness.say("talk");
    harness.advance(1_000);
    harness.agent.take("edit notes.txt").unwrap();
    harness.advance(1_000);
    assert_eq!(
        (last_result(&harness), harness.file("notes.txt").as_deref()),
        (Err(CHANGED.to_owned()), Some(SAVED))
    );
    assert!(matches!(harness.known.values().next_back(), Some(Item::End { ending: Ending::Completed })));
}
