//! A file that a user saves during a turn in the foreground is never overwritten unnoticed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::executor::block_on;
use headstart_forked_query::{EventStream, Model, ModelError, ModelEvent, ModelRequest, Part, ToolOutcome};
use headstart_overlay_fs::{ChangeKind, MemoryTree};
use headstart_speculation::{Consent, Ending, Limits, Transcript};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::support::{Fixture, ScriptedModel, call, calls, path, read, says, write};

/// A change in the workspace before a call. Without content the file is removed.
type ExternalEdit = Option<(&'static str, Option<&'static str>)>;

/// A model during whose answers somebody else changes a file.
struct InterferingModel {
    script: Arc<ScriptedModel>,
    tree: Arc<MemoryTree>,
    meanwhile: Mutex<VecDeque<ExternalEdit>>,
}

#[async_trait]
impl Model for InterferingModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        match self.meanwhile.lock().unwrap().pop_front().flatten() {
            Some((name, Some(content))) => self.tree.write(&path(name), content),
            Some((name, None)) => self.tree.remove(&path(name)),
            None => {}
        }
        self.script.stream(request).await
    }
}

/// Runs the calls one after the other. Returns for each whether it succeeded, and the content of the file at the end.
fn play(steps: &[(ExternalEdit, ModelEvent)]) -> (Vec<Result<(), String>>, Option<String>) {
    let answers = steps.iter().map(|(_, step)| calls([step.clone()])).chain([says("Done.")]);
    let fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    fixture.host.consents.lock().unwrap().extend([const { Consent::Run }; 9]);
    fixture.tree.write(&path("a.txt"), "one\n");
    play_in(&fixture, steps)
}

fn play_in(
    fixture: &Fixture,
    steps: &[(ExternalEdit, ModelEvent)],
) -> (Vec<Result<(), String>>, Option<String>) {
    let meanwhile = steps.iter().map(|(meanwhile, _)| *meanwhile).collect();
    let model = InterferingModel {
        script: Arc::clone(&fixture.model),
        tree: Arc::clone(&fixture.tree),
        meanwhile: Mutex::new(meanwhile),
    };
    let transcript = Transcript::new("do it");
    let (turn, _events) =
        fixture.engine.turn(Arc::new(model), fixture.request(), transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    let results = turn.transcript().messages.into_iter().flat_map(|message| message.parts);
    let results = results.filter_map(|part| match part {
        Part::ToolResult(result) => Some(match result.outcome {
            ToolOutcome::Output(_) => Ok(()),
            ToolOutcome::Error(message) => Err(message),
        }),
        _ => None,
    });
    let content = fixture.tree.snapshot().get("a.txt").map(|text| String::from_utf8(text.clone()).unwrap());
    (results.collect(), content)
}

const SAVED: ExternalEdit = Some(("a.txt", Some("one\nthe user's\n")));
const GONE: ExternalEdit = Some(("a.txt", None));

fn unseen() -> Result<(), String> {
    Err("a.txt has content that you have not seen; read it again, all of it, or change it with edit"
        .to_owned())
}

fn edit(old: &str, new: &str) -> ModelEvent {
    call("edit", &json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
}

fn cat() -> ModelEvent {
    call("shell", &json!({ "command": "cat a.txt" }))
}

#[test]
fn what_was_read_and_then_saved_is_not_replaced_until_it_is_read_again() {
    let changed = || Err("a.txt changed meanwhile; read it again".to_owned());
    let grep = || call("grep", &json!({ "pattern": "one" }));
    for (look, step, refused) in [
        (read("a.txt"), write("a.txt", "two\n"), changed()),
        (read("a.txt"), edit("one\n", "two\n"), changed()),
        (cat(), edit("one\n", "two\n"), changed()),
        (write("a.txt", "one\n"), write("a.txt", "two\n"), changed()),
        // The command of this test prints something else, and a search shows only some lines.
        (cat(), write("a.txt", "two\n"), unseen()),
        (grep(), write("a.txt", "two\n"), unseen()),
    ] {
        let refused = || refused.clone();
        let (results, content) = play(&[(None, look.clone()), (SAVED, step.clone())]);
        assert_eq!(results, [Ok(()), refused()], "{look:?} {step:?}");
        assert_eq!(content.unwrap(), "one\nthe user's\n");

        // Neither another try nor a search counts as reading the file.
        let (results, content) = play(&[
            (None, look.clone()),
            (SAVED, step.clone()),
            (None, step.clone()),
            (None, grep()),
            (None, step.clone()),
        ]);
        assert_eq!(results, [Ok(()), refused(), refused(), Ok(()), refused()], "{look:?} {step:?}");
        assert_eq!(content.unwrap(), "one\nthe user's\n");

        let (results, content) =
            play(&[(None, look.clone()), (SAVED, step.clone()), (None, read("a.txt")), (None, step.clone())]);
        assert_eq!(results, [Ok(()), refused(), Ok(()), Ok(())], "{look:?} {step:?}");
        assert!(content.unwrap().starts_with("two\n"));
    }
}

#[test]
fn what_comes_and_goes_meanwhile_is_seen_too() {
    let refused = |name: &str| Err(format!("{name} changed meanwhile; read it again"));
    let write_it = || write("a.txt", "two\n");
    let (results, content) =
        play(&[(None, read("a.txt")), (GONE, write_it()), (None, read("a.txt")), (None, write_it())]);
    assert_eq!(results, [Ok(()), refused("a.txt"), Err("a.txt does not exist".into()), Ok(())]);
    assert_eq!(content.unwrap(), "two\n");

    let (results, content) = play(&[(GONE, read("a.txt")), (SAVED, write_it())]);
    assert_eq!(results, [Err("a.txt does not exist".into()), unseen()]);
    assert_eq!(content.unwrap(), "one\nthe user's\n");
}

#[test]
fn a_turn_does_not_stand_in_its_own_way() {
    let (results, content) = play(&[
        (None, read("a.txt")),
        (None, edit("one\n", "two\n")),
        (None, edit("two\n", "three\n")),
        (None, write("a.txt", "four\n")),
        (None, write("b.txt", "new\n")),
        (None, write("b.txt", "newer\n")),
    ]);
    assert_eq!(results, [const { Ok(()) }; 6]);
    assert_eq!(content.unwrap(), "four\n");

    let (results, content) = play(&[(SAVED, write("a.txt", "two\n"))]);
    assert_eq!(results, [unseen()], "a file that was never read is not replaced");
    assert_eq!(content.unwrap(), "one\nthe user's\n");
    let (results, content) = play(&[(Some(("a.txt", Some(""))), write("a.txt", "two\n"))]);
    assert_eq!(
        (results, content.as_deref()),
        (vec![Ok(())], Some("two\n")),
        "in an empty file nothing is lost"
    );
}

/// What the user saves while the diff of a call stands in the question is not what they said yes to.
#[test]
fn a_yes_is_to_what_was_shown_and_a_file_saved_meanwhile_is_shown_again() {
    let asked = |steps: &[ModelEvent], content: &str, saves: &[&'static str]| {
        let answers = steps.iter().map(|step| calls([step.clone()])).chain([says("Done.")]);
        let fixture = Fixture::new(ApprovalMode::Default, answers);
        fixture.host.consents.lock().unwrap().extend([const { Consent::Run }; 9]);
        fixture.tree.write(&path("a.txt"), content);
        let saves = saves.iter().map(|text| (Arc::clone(&fixture.tree), "a.txt", *text));
        fixture.host.saves.lock().unwrap().extend(saves);
        let steps: Vec<_> = steps.iter().map(|step| (None, step.clone())).collect();
        let (results, content) = play_in(&fixture, &steps);
        let shown = fixture.host.prepared.lock().unwrap().iter().map(text_of).collect::<Vec<_>>();
        (results, content.unwrap(), shown)
    };
    // Nobody saves anything: one question, one diff.
    let (results, content, shown) = asked(&[edit("one", "two")], "one\n", &[]);
    assert_eq!((results, content.as_str()), (vec![Ok(())], "two\n"));
    assert_eq!(shown, ["two\n"]);
    // They save another part of the file, twice: each time they see what the edit makes of it.
    let saves = ["one\nmine\n", "one\nmine\nand more\n"];
    let (results, content, shown) = asked(&[edit("one", "two")], "one\n", &saves);
    assert_eq!((results, content.as_str()), (vec![Ok(())], "two\nmine\nand more\n"));
    assert_eq!(shown, ["two\n", "two\nmine\n", "two\nmine\nand more\n"]);
    // They save what the edit is about, or what a new content would replace: the call cannot be done any more.
    let (results, content, shown) = asked(&[edit("one", "two")], "one\n", &["mine\n"]);
    assert!(results[0].is_err() && content == "mine\n" && shown.len() == 1, "{results:?} {content}");
    for before in ["", "two\n"] {
        let (results, content, shown) = asked(&[write("a.txt", "two\n")], before, &["mine\n"]);
        assert_eq!((results, content.as_str(), shown.len()), (vec![unseen()], "mine\n", 1), "{before:?}");
    }
    let saves = ["one\nmine\n"];
    let (results, content, _) = asked(&[read("a.txt"), write("a.txt", "two\n")], "one\n", &saves);
    assert!(results[0].is_ok() && results[1].is_err() && content == "one\nmine\n", "{results:?} {content}");
}

fn text_of(shown: &headstart_speculation::CallPreview) -> String {
    let changes = shown.changes.iter().flat_map(|changes| &changes.changes);
    let texts = changes.filter_map(|change| match &change.kind {
        ChangeKind::Write { content, .. } => String::from_utf8(content.to_vec()).ok(),
        _ => None,
    });
    texts.collect()
}
