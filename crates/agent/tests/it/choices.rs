//! What a host sets in the middle of a conversation, what it tells the conversation, and the view that it draws.

use std::sync::atomic::Ordering;

use headstart_agent::{Answer, Applied, Edit, Item, Refused};
use headstart_budget::policy::Tariff;
use headstart_followup_state::filter;
use headstart_forked_query::Prices;
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};

use crate::world::{Setting, World, lock, text_of};

fn applied(world: &World) -> Vec<&Applied> {
    let items = world.known.values().filter_map(|item| match item {
        Item::Applied(applied) => Some(&**applied),
        _ => None,
    });
    items.collect()
}

fn undone(world: &World) -> Vec<String> {
    applied(world).iter().flat_map(|applied| &applied.undone).map(ToString::to_string).collect()
}

/// A host can ask for the changes of work, before and after it was applied. Asking does not make an update.
#[test]
fn what_was_applied_can_be_looked_at_later() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    let ahead = world.agent.view().ahead.clone().unwrap();
    assert_eq!(ahead.progress.calls.len(), 1);
    assert!(ahead.progress.calls[0].outcome.is_some());
    let staged = world.agent.changes(&ahead.id).unwrap();
    world.agent.take("edit made.txt").unwrap();
    world.pass(1_000);
    let id = applied(&world)[0].id.clone();
    assert_eq!((&id, world.agent.changes(&id)), (&ahead.id, Some(staged)));
    assert_eq!(world.agent.changes("nobody's"), None);
    let revision = world.settle().revision;
    world.agent.changes(&id);
    assert_eq!(world.settle().revision, revision, "to look is no change");
}

/// If the host reports changed files, the view shows which changes of the agent were undone, and a suggestion that was
/// made before is dropped.
#[test]
fn an_undo_that_the_host_hears_of_is_marked_and_takes_the_suggestion_along() {
    let mut world = World::new(&Setting::default());
    // The work for the first suggestion asks for the second one.
    for next in ["change notes.txt", "edit more.txt"] {
        world.model.suggest(next);
    }
    for prompt in ["talk", "talk more"] {
        world.say(prompt);
    }
    world.pass(1_000);
    world.agent.take("change notes.txt").unwrap();
    assert!(world.pass(1_000).suggestion.is_some());
    world.agent.files_changed();
    assert!(world.settle().suggestion.is_some(), "nothing was undone");
    world.write("notes.txt", "one\n");
    world.agent.files_changed();
    let view = world.settle();
    assert_eq!((view.suggestion.clone(), undone(&world)), (None, vec!["notes.txt".to_owned()]));
    world.write("notes.txt", "changed\n");
    world.agent.files_changed();
    world.settle();
    assert_eq!(undone(&world), Vec::<String>::new(), "it was made again before the model knew");

    world.write("notes.txt", "one\n");
    world.say("talk");
    assert_eq!(undone(&world), ["notes.txt"], "told to the model");
    world.write("notes.txt", "changed\n");
    world.agent.files_changed();
    world.settle();
    assert_eq!(undone(&world), Vec::<String>::new());
}

/// A conversation in which the work for `change notes.txt` was taken, and the user then undid the change in the file.
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn with_an_undo() -> World {
    let mut world = World::with_suggestion(&Setting::default(), "change notes.txt");
    world.agent.take("change notes.txt").unwrap();
    world.pass(1_000);
    assert_eq!(world.file("notes.txt").as_deref(), Some("changed\n"));
    world.write("notes.txt", "one\n");
    world
}

const NOTE: &str = "[Note: the user has undone changes that you made. These files are as they were before them:\n- notes.txt]\n\n";

fn told_of_undo(world: &World) -> usize {
    world.known.values().filter(|item| matches!(item, Item::Undone { .. })).count()
}

/// The model is told of an undo when a suggestion is asked for, and in the work for that suggestion, so the work need
/// not run again.
#[test]
fn a_suggestion_after_an_undo_and_the_work_for_it_know_of_it() {
    // This must also hold if the host does not report the change of the file.
    for hears in [true, false] {
        let mut world = with_an_undo();
        if hears {
            world.agent.files_changed();
            world.settle();
        }
        world.model.suggest("edit made.txt");
        world.agent.suggest();
        let view = world.pass(1_000);
        assert!(view.suggestion.is_some() && view.ahead.is_some(), "{view:?}");
        assert_eq!(undone(&world), ["notes.txt"]);
        let asked = lock(&world.model.questions)
            .iter()
            .map(|request| text_of(request.messages.last().unwrap()))
            .collect::<Vec<_>>();
        assert_eq!(asked.iter().filter(|question| question.starts_with(NOTE)).count(), 1, "{asked:?}");
        let ahead = lock(&world.model.ahead)
            .iter()
            .map(|request| text_of(request.messages.last().unwrap()))
            .collect::<Vec<_>>();
        assert!(ahead.contains(&format!("{NOTE}edit made.txt")), "{ahead:?}");

        // The work is taken without a new run, the model is told of the undo once, and the user sees that it was told.
        let turns = lock(&world.model.turns).len();
        world.agent.take("edit made.txt").unwrap();
        world.pass(1_000);
        assert_eq!(lock(&world.model.turns).len(), turns, "it does not run anew");
        assert_eq!((world.file("made.txt").as_deref(), told_of_undo(&world)), (Some("edit made.txt\n"), 1));
        world.say("talk on");
        assert_eq!(world.prompts()[3..], [format!("{NOTE}edit made.txt"), "talk on".to_owned()]);
        let kept = lock(&world.book.kept).clone();
        assert!(kept.contains(r#"{"type":"prompt","text":"edit made.txt""#), "{kept}");
    }
}

/// Work that was told of an undo is dropped if the undo was reversed meanwhile.
#[test]
fn work_that_knows_another_undo_than_there_is_does_not_count() {
    let mut world = with_an_undo();
    world.model.suggest("edit made.txt");
    world.agent.suggest();
    assert!(world.pass(1_000).ahead.is_some());
    // The user makes the change again unnoticed, so the work was told something that is no longer true.
    world.write("notes.txt", "changed\n");
    world.agent.take("edit made.txt").unwrap();
    world.pass(1_000);
    assert_eq!(world.prompts().last().unwrap(), "edit made.txt");
    assert_eq!((told_of_undo(&world), undone(&world)), (0, Vec::new()));
    assert_eq!(world.outcomes(), ["accepted", "aborted"]);

    // If the host reports the change, the suggestion is taken away.
    let mut world = with_an_undo();
    world.model.suggest("edit made.txt");
    world.agent.suggest();
    assert!(world.pass(1_000).suggestion.is_some());
    world.write("notes.txt", "changed\n");
    world.agent.files_changed();
    assert!(world.settle().suggestion.is_none());
}

#[test]
fn what_a_host_tells_reaches_work_that_begins_later_and_is_told_once() {
    let setting = Setting { mode: ApprovalMode::Default, ..Setting::default() };
    let mut world = World::with_suggestion(&setting, "edit made.txt");
    world.agent.dismiss();
    world.agent.tell("the user ran `make`");
    world.model.suggest("edit other.txt");
    world.agent.suggest();
    assert!(world.pass(1_000).ahead.is_some());
    world.agent.take("edit other.txt").unwrap();
    let yes = world.settle().question.clone().unwrap().id;
    // Text that is told while the work is being taken goes with the prompt after it.
    world.agent.tell("the user ran `make clean`");
    world.agent.answer(yes, Answer::Yes).unwrap();
    world.pass(1_000);
    world.say("talk on");
    let expected =
        ["[Note: the user ran `make`]\n\nedit other.txt", "[Note: the user ran `make clean`]\n\ntalk on"];
    assert_eq!(world.prompts()[2..], expected);
}

/// If the user declines work that would have told the model of an undo, the next prompt tells it.
#[test]
fn an_undo_that_declined_work_would_have_told_is_told_with_the_next_prompt() {
    let setting = Setting { mode: ApprovalMode::Default, ..Setting::default() };
    let mut world = World::with_suggestion(&setting, "change notes.txt");
    world.agent.take("change notes.txt").unwrap();
    let yes = world.settle().question.clone().unwrap().id;
    world.agent.answer(yes, Answer::Yes).unwrap();
    world.pass(1_000);
    world.write("notes.txt", "one\n");
    world.model.suggest("edit made.txt");
    world.agent.suggest();
    assert!(world.pass(1_000).ahead.is_some());
    world.agent.take("edit made.txt").unwrap();
    let no = world.settle().question.clone().unwrap().id;
    world.agent.answer(no, Answer::No).unwrap();
    world.settle();
    world.say("talk on");
    assert_eq!(world.prompts().last().unwrap(), &format!("{NOTE}talk on"));
}

/// A host may offer a suggestion of its own. No work runs ahead for it.
#[test]
fn a_suggestion_of_the_hosts_own_shows_and_nothing_runs_for_it() {
    let mut world = World::new(&Setting::default());
    world.agent.offer(filter("edit made.txt").unwrap());
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit made.txt"));
    assert!(view.ahead.is_none() && lock(&world.model.ahead).is_empty());
    world.agent.take("edit made.txt").unwrap();
    world.pass(1_000);
    assert_eq!(world.file("made.txt").as_deref(), Some("edit made.txt\n"));

    // Work ahead runs again for the next suggestion of the model.
    world.model.suggest("edit other.txt");
    world.say("talk");
    assert!(world.pass(1_000).ahead.is_some());
}

/// A suggestion can be asked for at any time, and the view says why there is none.
#[test]
fn a_suggestion_is_asked_for_on_demand_and_why_there_is_none_is_known() {
    let mut world = World::new(&Setting::default());
    world.agent.suggest();
    let view = world.settle();
    assert_eq!(view.unsuggested.as_deref(), Some("early_conversation"));
    for prompt in ["talk", "talk more"] {
        world.say(prompt);
    }
    assert_eq!(world.settle().unsuggested.as_deref(), Some("empty"));
    world.model.suggest("run the tests");
    world.agent.suggest();
    let view = world.pass(1_000);
    assert_eq!((view.suggestion.is_some(), view.unsuggested.clone()), (true, None));
    let asked = world.model.asked.load(Ordering::SeqCst);
    world.agent.suggest();
    world.settle();
    assert_eq!(world.model.asked.load(Ordering::SeqCst), asked, "there is one already");
}

/// A suggestion that the text in the line hides cannot be taken, because the user does not see it.
#[test]
fn what_the_line_hides_is_not_taken() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    // A command and a recalled prompt only hide the suggestion: it shows again when the line is empty.
    for (text, edit) in [("/help", Edit::Typed), ("talk", Edit::Recalled)] {
        world.agent.edited(text, edit);
        assert!(world.settle().suggestion.as_ref().is_some_and(|shown| shown.rest.is_none()), "{text}");
        assert_eq!(world.agent.take("edit made.txt"), Err(Refused::Stale), "{text}");
    }
    world.pass(1_000);
    assert_eq!(world.file("made.txt"), None);
    for seen in ["", "EDIT ma", "edit made.txt "] {
        world.agent.edited(seen, Edit::Typed);
        assert!(world.pass(1_000).ahead.is_some(), "{seen}");
    }
    world.agent.take("edit made.txt").unwrap();
    world.pass(1_000);
    assert!(world.file("made.txt").is_some());
}

/// If speculation is switched off, the work that runs is dropped and suggestions are shown without work.
#[test]
fn where_suggestions_do_not_run_any_more_none_does() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.agent.set_speculation(false);
    assert!(world.settle().ahead.is_none());
    assert_eq!(world.outcomes(), ["aborted"]);
    world.agent.set_candidates(2);
    world.model.suggest("edit one.txt|edit two.txt");
    world.agent.suggest();
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.place.of), Some(2));
    assert!(view.ahead.is_none());
}

/// If suggestions are switched off, none is asked for until they are switched on again.
#[test]
fn where_there_are_no_suggestions_any_more_none_is_asked_for_until_there_are_again() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.agent.set_suggestions(false);
    let view = world.settle();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    assert_eq!(world.outcomes(), ["aborted"]);
    let asked = world.model.asked.load(Ordering::SeqCst);
    world.say("talk");
    assert!(!world.agent.suggest());
    assert!(world.pass(1_000).suggestion.is_none());
    assert_eq!(world.model.asked.load(Ordering::SeqCst), asked, "nothing is asked for");
    world.agent.set_suggestions(true);
    world.model.suggest("edit other.txt");
    assert!(world.agent.suggest());
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit other.txt"));
}

/// After a change of the model, the old suggestion is dropped, and another one is asked for.
#[test]
fn another_model_is_asked_anew() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.model.suggest("edit other.txt");
    world.agent.set_model("n", Tariff::new("n", Prices::default()), None);
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit other.txt"));
    assert_eq!(lock(&world.model.ahead).last().unwrap().model, "n");
    world.say("talk");
    assert_eq!(lock(&world.model.turns).last().unwrap().model, "n");
    let models: Vec<_> = world.lines("turn").iter().map(|line| line["model"].clone()).collect();
    assert_eq!(models, ["m", "m", "n"]);
}

/// The fields of the view in JSON, on which front ends in other languages rely.
// Row: S7
#[test]
fn the_view_is_json_for_who_draws_in_another_language() {
    let mut world = World::with_suggestion(
        &Setting { mode: ApprovalMode::Default, ..Setting::default() },
        "edit made.txt",
    );
    world.agent.edited("edit", Edit::Typed);
    let view: Value = serde_json::to_value(&*world.settle()).unwrap();
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

    world.agent.take("edit made.txt").unwrap();
    let view = serde_json::to_value(&*world.settle()).unwrap();
    let question = &view["question"];
    assert_eq!(view["taken"], ahead["id"]);
    assert_eq!((&question["type"], &question["changes"]), (&json!("changes"), &ahead["staged"]));
    assert_eq!(view["phase"], "asking");
    let id = world.agent.view().question.as_ref().unwrap().id;
    assert_eq!(question["id"], id.to_string());
    world.agent.answer(id, Answer::Yes).unwrap();
    world.settle();
    let items: Vec<Value> = world.known.values().map(|item| serde_json::to_value(item).unwrap()).collect();
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
