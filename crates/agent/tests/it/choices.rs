//! What a host sets in the middle of a conversation, what it tells the conversation, and the view that it draws.

use std::sync::atomic::Ordering;

use headstart_agent::{ActionError, AppliedWork, EditKind, Item, UserAnswer};
use headstart_budget::policy::Tariff;
use headstart_followup_state::filter;
use headstart_forked_query::Prices;
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};

use crate::harness::{Harness, HarnessOptions, lock, text_of};

fn applied(harness: &Harness) -> Vec<&AppliedWork> {
    let items = harness.known.values().filter_map(|item| match item {
        Item::Applied(applied) => Some(&**applied),
        _ => None,
    });
    items.collect()
}

fn undone(harness: &Harness) -> Vec<String> {
    applied(harness).iter().flat_map(|applied| &applied.undone).map(ToString::to_string).collect()
}

/// A host can ask for the changes of work, before and after it was applied. Asking does not make an update.
#[test]
fn what_was_applied_can_be_looked_at_later() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    let ahead = harness.agent.view().ahead.clone().unwrap();
    assert_eq!(ahead.progress.calls.len(), 1);
    assert!(ahead.progress.calls[0].outcome.is_some());
    let staged = harness.agent.changes(&ahead.id).unwrap();
    harness.agent.take("edit made.txt").unwrap();
    harness.advance(1_000);
    let id = applied(&harness)[0].id.clone();
    assert_eq!((&id, harness.agent.changes(&id)), (&ahead.id, Some(staged)));
    assert_eq!(harness.agent.changes("nobody's"), None);
    let revision = harness.settle().revision;
    harness.agent.changes(&id);
    assert_eq!(harness.settle().revision, revision, "to look is no change");
}

/// If the host reports changed files, the view shows which changes of the agent were undone, and a suggestion that was
/// made before is dropped.
#[test]
fn an_undo_that_the_host_hears_of_is_marked_and_takes_the_suggestion_along() {
    let mut harness = Harness::new(&HarnessOptions::default());
    // The work for the first suggestion asks for the second one.
    for next in ["change notes.txt", "edit more.txt"] {
        harness.model.suggest(next);
    }
    for prompt in ["talk", "talk more"] {
        harness.say(prompt);
    }
    harness.advance(1_000);
    harness.agent.take("change notes.txt").unwrap();
    assert!(harness.advance(1_000).suggestion.is_some());
    harness.agent.files_changed();
    assert!(harness.settle().suggestion.is_some(), "nothing was undone");
    harness.write("notes.txt", "one\n");
    harness.agent.files_changed();
    let view = harness.settle();
    assert_eq!((view.suggestion.clone(), undone(&harness)), (None, vec!["notes.txt".to_owned()]));
    harness.write("notes.txt", "changed\n");
    harness.agent.files_changed();
    harness.settle();
    assert_eq!(undone(&harness), Vec::<String>::new(), "it was made again before the model knew");

    harness.write("notes.txt", "one\n");
    harness.say("talk");
    assert_eq!(undone(&harness), ["notes.txt"], "told to the model");
    harness.write("notes.txt", "changed\n");
    harness.agent.files_changed();
    harness.settle();
    assert_eq!(undone(&harness), Vec::<String>::new());
}

/// A conversation in which the work for `change notes.txt` was taken, and the user then undid the change in the file.
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn with_an_undo() -> Harness {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "change notes.txt");
    harness.agent.take("change notes.txt").unwrap();
    harness.advance(1_000);
    assert_eq!(harness.file("notes.txt").as_deref(), Some("changed\n"));
    harness.write("notes.txt", "one\n");
    harness
}

const NOTE: &str = "[Note: the user has undone changes that you made. These files are as they were before them:\n- notes.txt]\n\n";

fn told_of_undo(harness: &Harness) -> usize {
    harness.known.values().filter(|item| matches!(item, Item::Undone { .. })).count()
}

/// The model is told of an undo when a suggestion is asked for, and in the work for that suggestion, so the work need
/// not run again.
#[test]
fn a_suggestion_after_an_undo_and_the_work_for_it_know_of_it() {
    // This must also hold if the host does not report the change of the file.
    for hears in [true, false] {
        let mut harness = with_an_undo();
        if hears {
            harness.agent.files_changed();
            harness.settle();
        }
        harness.model.suggest("edit made.txt");
        harness.agent.suggest();
        let view = harness.advance(1_000);
        assert!(view.suggestion.is_some() && view.ahead.is_some(), "{view:?}");
        assert_eq!(undone(&harness), ["notes.txt"]);
        let asked = lock(&harness.model.questions)
            .iter()
            .map(|request| text_of(request.messages.last().unwrap()))
            .collect::<Vec<_>>();
        assert_eq!(asked.iter().filter(|question| question.starts_with(NOTE)).count(), 1, "{asked:?}");
        let ahead = lock(&harness.model.ahead)
            .iter()
            .map(|request| text_of(request.messages.last().unwrap()))
            .collect::<Vec<_>>();
        assert!(ahead.contains(&format!("{NOTE}edit made.txt")), "{ahead:?}");

        // The work is taken without a new run, the model is told of the undo once, and the user sees that it was told.
        let turns = lock(&harness.model.turns).len();
        harness.agent.take("edit made.txt").unwrap();
        harness.advance(1_000);
        assert_eq!(lock(&harness.model.turns).len(), turns, "it does not run anew");
        assert_eq!(
            (harness.file("made.txt").as_deref(), told_of_undo(&harness)),
            (Some("edit made.txt\n"), 1)
        );
        harness.say("talk on");
        assert_eq!(harness.prompts()[3..], [format!("{NOTE}edit made.txt"), "talk on".to_owned()]);
        let kept = lock(&harness.store.kept).clone();
        assert!(kept.contains(r#"{"type":"prompt","text":"edit made.txt""#), "{kept}");
    }
}

/// Work that was told of an undo is dropped if the undo was reversed meanwhile.
#[test]
fn work_that_knows_another_undo_than_there_is_does_not_count() {
    let mut harness = with_an_undo();
    harness.model.suggest("edit made.txt");
    harness.agent.suggest();
    assert!(harness.advance(1_000).ahead.is_some());
    // The user makes the change again unnoticed, so the work was told something that is no longer true.
    harness.write("notes.txt", "changed\n");
    harness.agent.take("edit made.txt").unwrap();
    harness.advance(1_000);
    assert_eq!(harness.prompts().last().unwrap(), "edit made.txt");
    assert_eq!((told_of_undo(&harness), undone(&harness)), (0, Vec::new()));
    assert_eq!(harness.outcomes(), ["accepted", "aborted"]);

    // If the host reports the change, the suggestion is taken away.
    let mut harness = with_an_undo();
    harness.model.suggest("edit made.txt");
    harness.agent.suggest();
    assert!(harness.advance(1_000).suggestion.is_some());
    harness.write("notes.txt", "changed\n");
    harness.agent.files_changed();
    assert!(harness.settle().suggestion.is_none());
}

#[test]
fn what_a_host_tells_reaches_work_that_begins_later_and_is_told_once() {
    let setting = HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() };
    let mut harness = Harness::with_suggestion(&setting, "edit made.txt");
    harness.agent.dismiss();
    harness.agent.add_note("the user ran `make`");
    harness.model.suggest("edit docs.txt");
    harness.agent.suggest();
    assert!(harness.advance(1_000).ahead.is_some());
    harness.agent.take("edit docs.txt").unwrap();
    let yes = harness.settle().question.clone().unwrap().id;
    // Text that is told while the work is being taken goes with the prompt after it.
    harness.agent.add_note("the user ran `make clean`");
    harness.agent.answer(yes, UserAnswer::Yes).unwrap();
    harness.advance(1_000);
    harness.say("talk on");
    let expected =
        ["[Note: the user ran `make`]\n\nedit docs.txt", "[Note: the user ran `make clean`]\n\ntalk on"];
    assert_eq!(harness.prompts()[2..], expected);
}

/// If the user declines work that would have told the model of an undo, the next prompt tells it.
#[test]
fn an_undo_that_declined_work_would_have_told_is_told_with_the_next_prompt() {
    let setting = HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() };
    let mut harness = Harness::with_suggestion(&setting, "change notes.txt");
    harness.agent.take("change notes.txt").unwrap();
    let yes = harness.settle().question.clone().unwrap().id;
    harness.agent.answer(yes, UserAnswer::Yes).unwrap();
    harness.advance(1_000);
    harness.write("notes.txt", "one\n");
    harness.model.suggest("edit made.txt");
    harness.agent.suggest();
    assert!(harness.advance(1_000).ahead.is_some());
    harness.agent.take("edit made.txt").unwrap();
    let no = harness.settle().question.clone().unwrap().id;
    harness.agent.answer(no, UserAnswer::No).unwrap();
    harness.settle();
    harness.say("talk on");
    assert_eq!(harness.prompts().last().unwrap(), &format!("{NOTE}talk on"));
}

/// A host may offer a suggestion of its own. No work runs ahead for it.
#[test]
fn a_suggestion_of_the_hosts_own_shows_and_nothing_runs_for_it() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.agent.offer(filter("edit made.txt").unwrap());
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit made.txt"));
    assert!(view.ahead.is_none() && lock(&harness.model.ahead).is_empty());
    harness.agent.take("edit made.txt").unwrap();
    harness.advance(1_000);
    assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"));

    // Work ahead runs again for the next suggestion of the model.
    harness.model.suggest("edit other.txt");
    harness.say("talk");
    assert!(harness.advance(1_000).ahead.is_some());
}

/// A suggestion can be asked for at any time, and the view says why there is none.
#[test]
fn a_suggestion_is_asked_for_on_demand_and_why_there_is_none_is_known() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.agent.suggest();
    let view = harness.settle();
    assert_eq!(view.unsuggested.as_deref(), Some("early_conversation"));
    for prompt in ["talk", "talk more"] {
        harness.say(prompt);
    }
    assert_eq!(harness.settle().unsuggested.as_deref(), Some("empty"));
    harness.model.suggest("run the tests");
    harness.agent.suggest();
    let view = harness.advance(1_000);
    assert_eq!((view.suggestion.is_some(), view.unsuggested.clone()), (true, None));
    let asked = harness.model.asked.load(Ordering::SeqCst);
    harness.agent.suggest();
    harness.settle();
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), asked, "there is one already");
}

/// A suggestion that the text in the line hides cannot be taken, because the user does not see it.
#[test]
fn what_the_line_hides_is_not_taken() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    // A command and a recalled prompt only hide the suggestion: it shows again when the line is empty.
    for (text, edit) in [("/help", EditKind::Typed), ("talk", EditKind::Recalled)] {
        harness.agent.edited(text, edit);
        assert!(harness.settle().suggestion.as_ref().is_some_and(|shown| shown.rest.is_none()), "{text}");
        assert_eq!(harness.agent.take("edit made.txt"), Err(ActionError::Stale), "{text}");
    }
    harness.advance(1_000);
    assert_eq!(harness.file("made.txt"), None);
    for seen in ["", "EDIT ma", "edit made.txt "] {
        harness.agent.edited(seen, EditKind::Typed);
        assert!(harness.advance(1_000).ahead.is_some(), "{seen}");
    }
    harness.agent.take("edit made.txt").unwrap();
    harness.advance(1_000);
    assert!(harness.file("made.txt").is_some());
}

/// If speculation is switched off, the work that runs is dropped and suggestions are shown without work.
#[test]
fn where_suggestions_do_not_run_any_more_none_does() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.agent.set_speculation(false);
    assert!(harness.settle().ahead.is_none());
    assert_eq!(harness.outcomes(), ["aborted"]);
    harness.agent.set_candidates(2);
    harness.model.suggest("edit one.txt|edit two.txt");
    harness.agent.suggest();
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.place.of), Some(2));
    assert!(view.ahead.is_none());
}

/// If suggestions are switched off, none is asked for until they are switched on again.
#[test]
fn where_there_are_no_suggestions_any_more_none_is_asked_for_until_there_are_again() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.agent.set_suggestions(false);
    let view = harness.settle();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    assert_eq!(harness.outcomes(), ["aborted"]);
    let asked = harness.model.asked.load(Ordering::SeqCst);
    harness.say("talk");
    assert!(!harness.agent.suggest());
    assert!(harness.advance(1_000).suggestion.is_none());
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), asked, "nothing is asked for");
    harness.agent.set_suggestions(true);
    harness.model.suggest("edit other.txt");
    assert!(harness.agent.suggest());
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit other.txt"));
}

/// After a change of the model, the old suggestion is dropped, and another one is asked for.
#[test]
fn another_model_is_asked_anew() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.model.suggest("edit other.txt");
    harness.agent.set_model("n", Tariff::new("n", Prices::default()), None);
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit other.txt"));
    assert_eq!(lock(&harness.model.ahead).last().unwrap().model, "n");
    harness.say("talk");
    assert_eq!(lock(&harness.model.turns).last().unwrap().model, "n");
    let models: Vec<_> = harness.lines("turn").iter().map(|line| line["model"].clone()).collect();
    assert_eq!(models, ["m", "m", "n"]);
}

/// The fields of the view in JSON, on which front ends in other languages rely.
#[test]
fn the_view_is_json_for_who_draws_in_another_language() {
    let mut harness = Harness::with_suggestion(
        &HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() },
        "edit made.txt",
    );
    harness.agent.edited("edit", EditKind::Typed);
    let view: Value = serde_json::to_value(&*harness.settle()).unwrap();
    assert_eq!(
        view["suggestion"],
        json!({ "text": "edit made.txt", "rest": " made.txt", "number": 1, "of": 1 })
    );
    assert_eq!((&view["version"], &view["phase"]), (&json!(1), &json!("idle")));
    let call =
        json!({ "name": "write_file", "args": { "file_path": "made.txt", "content": "edit made.txt\n" } });
    let ahead = &view["ahead"];
    assert_eq!((&ahead["state"], &ahead["said"]), (&json!("ready"), &json!("Done: edit made.txt.")));
    assert_eq!(
        (&ahead["calls"][0]["call"]["name"], &ahead["calls"][0]["state"]),
        (&call["name"], &json!("done"))
    );
    assert_eq!(
        ahead["staged"],
        json!([{ "path": "made.txt", "type": "create", "added": 1, "removed": 0, "binary": false }])
    );

    harness.agent.take("edit made.txt").unwrap();
    let view = serde_json::to_value(&*harness.settle()).unwrap();
    let question = &view["question"];
    assert_eq!(view["taken"], ahead["id"]);
    assert_eq!((&question["type"], &question["changes"]), (&json!("changes"), &ahead["staged"]));
    assert_eq!(view["phase"], "asking");
    let id = harness.agent.view().question.as_ref().unwrap().id;
    assert_eq!(question["id"], id.to_string());
    harness.agent.answer(id, UserAnswer::Yes).unwrap();
    harness.settle();
    let items: Vec<Value> = harness.known.values().map(|item| serde_json::to_value(item).unwrap()).collect();
    let types: Vec<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    let of_taken = ["prompt", "call", "answer", "applied", "end"];
    assert_eq!(types[types.len() - of_taken.len()..], of_taken);
    let applied = &items[items.len() - 2];
    assert_eq!(
        (&applied["id"], &applied["changes"], &applied["ending"]),
        (&ahead["id"], &ahead["staged"], &json!({ "status": "completed" }))
    );
    assert_eq!(items[items.len() - 4]["state"], "done");
}
