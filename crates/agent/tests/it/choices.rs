//! What a host sets in the middle of a conversation, and what it draws from.

use std::sync::atomic::Ordering;

use headstart_agent::{Answer, Applied, Edit, Item};
use headstart_budget::policy::Tariff;
use headstart_followup_state::filter;
use headstart_forked_query::Prices;
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};

use crate::world::{Setting, World, lock};

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

#[test]
fn an_undo_that_the_host_hears_of_is_marked_and_takes_the_suggestion_along() {
    let mut world = World::new(&Setting::default());
    // The second one is asked for by the work for the first.
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

    // The next one runs as ever.
    world.model.suggest("edit other.txt");
    world.say("talk");
    assert!(world.pass(1_000).ahead.is_some());
}

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

#[test]
fn another_model_is_asked_anew() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.model.suggest("edit other.txt");
    world.agent.set_model("n", Tariff::new("n", Prices::default()));
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit other.txt"));
    assert_eq!(lock(&world.model.ahead).last().unwrap().model, "n");
    world.say("talk");
    assert_eq!(lock(&world.model.turns).last().unwrap().model, "n");
    let models: Vec<_> = world.lines("turn").iter().map(|line| line["model"].clone()).collect();
    assert_eq!(models, ["m", "m", "n"]);
}

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
