//! The states of calls that a run reports, from the first letter of their arguments to their results.

use std::sync::atomic::Ordering;

use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{ModelEvent, Part, ToolOutcome};
use headstart_speculation::{CallStage, Consent, Ending, Event, Events, Limits, Transcript};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::support::{Fixture, Reply, call, calls, says};

fn fixture(mode: ApprovalMode, answers: impl IntoIterator<Item = Reply>) -> Fixture {
    let fixture = Fixture::new(mode, answers);
    fixture.host.reports_call_states.store(true, Ordering::SeqCst);
    fixture
}

/// Runs a turn. Returns its ending, the states of calls that it reported, and the results that the model reads.
fn play(fixture: &Fixture) -> (Ending, Vec<String>, Vec<String>) {
    let transcript = Transcript::new("do it");
    let (turn, events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
    let ending = block_on(turn.run());
    let told = states(events);
    let results = turn.transcript().messages.into_iter().flat_map(|message| message.parts);
    let results = results.filter_map(|part| match part {
        Part::ToolResult(result) => Some(match result.outcome {
            ToolOutcome::Output(output) => format!("ok {}", output.as_str().unwrap_or_default()),
            ToolOutcome::Error(message) => format!("error {message}"),
        }),
        _ => None,
    });
    (ending, told, results.collect())
}

fn states(events: Events) -> Vec<String> {
    let told = block_on(events.collect::<Vec<_>>());
    let told = told.into_iter().filter_map(|event| match event {
        Event::CallState(state) => Some(format!(
            "{} {} {:?}{}{}",
            state.number,
            state.name,
            state.stage,
            if state.waiting { " waiting" } else { "" },
            if state.stage == CallStage::Generating && !state.args.is_empty() {
                format!(" {}", serde_json::Value::Object(state.args))
            } else {
                String::new()
            },
        )),
        Event::CallOutput { end, .. } => Some(format!("printed {end}")),
        _ => None,
    });
    told.collect()
}

fn letters(index: usize, name: &str, letters: &str) -> ModelEvent {
    ModelEvent::CallFragment { index, name: name.into(), letters: letters.into() }
}

#[test]
fn a_call_is_told_from_its_first_letter_to_its_result() {
    let mut events = vec![letters(0, "write_file", "")];
    let args = json!({ "file_path": "a.txt", "content": "x".repeat(300) });
    // Each reading of the clock takes a millisecond.
    events.extend(args.to_string().chars().map(|letter| letters(0, "write_file", &letter.to_string())));
    events.push(call("write_file", &args));
    let fixture = fixture(ApprovalMode::AutoEdit, [calls(events), says("Done.")]);
    let (ending, told, _) = play(&fixture);
    assert_eq!(ending, Ending::Completed);
    let last = told.len() - 3;
    assert_eq!(told[0], "0 write_file Generating");
    assert!((1..=5).contains(&(last - 1)), "no more than one in 100 ms: {told:?}");
    assert_eq!(told[last..], ["0 write_file Generated", "0 write_file Calling", "0 write_file Done"]);
}

#[test]
fn an_answer_that_is_cut_cancels_what_it_began() {
    let fixture =
        fixture(ApprovalMode::Default, [Reply::Events(vec![letters(0, "shell", "{\"command\":\"l")])]);
    let (ending, told, _) = play(&fixture);
    assert!(matches!(ending, Ending::Failed { .. }), "{ending:?}");
    assert_eq!(told, ["0 shell Generating", "0 shell Canceled"]);
}

#[test]
fn a_question_a_refusal_and_what_a_command_prints_are_told() {
    let ask = |command: &str| call("shell", &json!({ "command": command }));
    let answers = [calls([ask("touch a"), ask("touch b"), ask("touch c")]), says("Done.")];
    let fixture = fixture(ApprovalMode::Default, answers);
    let consents = [Consent::Run, Consent::DeclineBecause("use make".into()), Consent::Decline];
    fixture.host.consents.lock().unwrap().extend(consents);
    let (_, told, results) = play(&fixture);
    assert_eq!(
        told,
        [
            "0 shell Generated",
            "1 shell Generated",
            "2 shell Generated",
            "0 shell Generated waiting",
            "0 shell Calling",
            "printed ran",
            "0 shell Done",
            "1 shell Generated waiting",
            "1 shell Canceled",
            "2 shell Generated waiting",
            "2 shell Canceled",
        ]
    );
    assert_eq!(results[1], "error the user declined this call, and says: use make");
    assert_eq!(results[2], "error the user declined this call");
}

#[test]
fn a_question_holds_what_an_edit_would_change_and_one_that_cannot_be_made_is_not_asked_about() {
    let edit = |old: &str| {
        call("edit", &json!({ "file_path": "README.md", "old_string": old, "new_string": "# other" }))
    };
    let fixture =
        fixture(ApprovalMode::Default, [calls([edit("# sample"), edit("# nowhere")]), says("Done.")]);
    fixture.host.consents.lock().unwrap().extend([Consent::Decline]);
    let (ending, told, results) = play(&fixture);
    assert_eq!(ending, Ending::Completed);
    assert_eq!(fixture.host.asked.lock().unwrap().len(), 1);
    let prepared = fixture.host.prepared.lock().unwrap();
    let diff = prepared[0].changes.as_ref().unwrap().diff();
    assert!(diff.contains("-# sample") && diff.contains("+# other"), "{diff}");
    assert_eq!(fixture.tree.snapshot()["README.md"], b"# sample\n");
    assert!(results[1].contains("old_string"), "{results:?}");
    assert_eq!(told.last().unwrap(), "1 edit Errored");
}

/// An error about a closed file would tell the model what is in the file, even if the user then declines. So the user
/// is asked first.
#[test]
fn an_edit_of_a_secret_is_asked_about_also_where_it_cannot_be_made() {
    let edit = call("edit", &json!({ "file_path": ".env", "old_string": "KEY=wrong", "new_string": "KEY=" }));
    let fixture = fixture(ApprovalMode::Default, [calls([edit]), says("Done.")]);
    fixture.tree.write(&headstart_overlay_fs::WorkspacePath::parse(".env").unwrap(), "KEY=hunter2\n");
    fixture.host.consents.lock().unwrap().extend([Consent::Decline]);
    let (_, _, results) = play(&fixture);
    assert_eq!(results, ["error the user declined this call"]);
    assert_eq!(fixture.host.asked.lock().unwrap().len(), 1);
}

#[test]
fn work_that_stops_says_where_and_nothing_is_told_unasked() {
    let touch = || call("shell", &json!({ "command": "touch a" }));
    let read = || call("read_file", &json!({ "file_path": "README.md" }));
    let fixture = fixture(ApprovalMode::Default, [calls([read(), touch(), touch()])]);
    let (_speculation, driver, events) = fixture.start("do it");
    block_on(driver);
    assert_eq!(
        states(events),
        [
            "0 read_file Generated",
            "1 shell Generated",
            "2 shell Generated",
            "0 read_file Calling",
            "0 read_file Done",
            "1 shell Boundary",
            "2 shell Boundary",
        ]
    );
    let quiet = Fixture::new(ApprovalMode::Default, [calls([read()]), says("Done.")]);
    assert_eq!(play(&quiet).1, Vec::<String>::new());
}
