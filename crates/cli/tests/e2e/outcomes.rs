//! Holds how a speculation can end, as a program and as a person see it. However it ends, the workspace is unchanged.

use serde_json::json;

use crate::shadow::{events, session, shell};
use crate::support::project::{call, farewell};
use crate::support::{Outcome, Session};

/// Speculates, and checks that the workspace is unchanged. Returns the outcome, and its output without what differs
/// from run to run.
fn run_recording(session: &mut Session, recording: &serde_json::Value, mode: &str) -> (Outcome, String) {
    let before = session.hash();
    let (outcome, _) = session.speculate(recording, mode);
    assert_eq!(session.hash(), before);
    let told = session.redact(&outcome.stdout);
    (outcome, told)
}

#[test]
fn completed() {
    let mut session = Session::with_project();
    let (outcome, told) = run_recording(&mut session, &farewell(), "auto-edit");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    insta::assert_snapshot!(told, @r#"
    {"type":"text","text":"I'll look first."}
    {"type":"toolCall","call":{"id":"replay-1-1","name":"read_file","args":{"file_path":"greeting.txt"}}}
    {"type":"toolResult","result":{"id":"replay-1-1","name":"read_file","output":"hello\nworld\n"},"items":[{"name":"greeting.txt","description":"greeting.txt","content":"hello\nworld\n","uri":{"type":"file","value":"greeting.txt"}}]}
    {"type":"toolCall","call":{"id":"replay-1-2","name":"read_file","args":{"file_path":"notes.txt"}}}
    {"type":"toolResult","result":{"id":"replay-1-2","name":"read_file","output":"remember the milk\n"},"items":[{"name":"notes.txt","description":"notes.txt","content":"remember the milk\n","uri":{"type":"file","value":"notes.txt"}}]}
    {"type":"toolCall","call":{"id":"replay-1-3","name":"shell","args":{"command":"git status --short"}}}
    {"type":"toolResult","result":{"id":"replay-1-3","name":"shell","output":"[no output]"}}
    {"type":"toolCall","call":{"id":"replay-2-1","name":"edit","args":{"file_path":"greeting.txt","old_string":"world","new_string":"moon"}}}
    {"type":"toolResult","result":{"id":"replay-2-1","name":"edit","output":"replaced 1 occurrence in greeting.txt (line 2)"}}
    {"type":"toolCall","call":{"id":"replay-2-2","name":"write_file","args":{"file_path":"src/farewell.txt","content":"bye\n"}}}
    {"type":"toolResult","result":{"id":"replay-2-2","name":"write_file","output":"created src/farewell.txt (1 line)"}}
    {"type":"toolCall","call":{"id":"replay-3-1","name":"grep","args":{"pattern":"bye|moon"}}}
    {"type":"toolResult","result":{"id":"replay-3-1","name":"grep","output":"greeting.txt:2:moon\nsrc/farewell.txt:1:bye"},"items":[{"name":"greeting.txt (2)","description":"greeting.txt","content":"greeting.txt:2:moon\n","uri":{"type":"file","value":"greeting.txt","lines":[2,2]}},{"name":"farewell.txt (1)","description":"src/farewell.txt","content":"src/farewell.txt:1:bye","uri":{"type":"file","value":"src/farewell.txt","lines":[1,1]}}]}
    {"type":"text","text":"Done."}
    {"type":"finished","id":"[ID]","status":"completed","changes":[{"path":"greeting.txt","type":"modify","added":1,"removed":1,"binary":false},{"path":"src/farewell.txt","type":"create","added":1,"removed":0,"binary":false}],"boundary":null,"next":"run the tests","usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"turns":4,"toolCalls":6,"stagedFiles":2,"stagedBytes":27,"modelMs":[TIME],"toolMs":[TIME],"workMs":[TIME]}}
    "#);
}

#[test]
fn boundary_names_the_pending_call() {
    let mut session = Session::with_project();
    let recording = json!({"turns": [{"text": "Edit, then commit.", "toolCalls": [
        call("write_file", &json!({"file_path": "new.txt", "content": "new\n"})),
        call("shell", &json!({"command": "git commit --all --message farewell"})),
        call("read_file", &json!({"file_path": "new.txt"})),
    ]}]});
    let (outcome, told) = run_recording(&mut session, &recording, "auto-edit");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert_eq!(outcome.finished()["boundary"]["call"]["name"], "shell");
    insta::assert_snapshot!(told, @r#"
    {"type":"text","text":"Edit, then commit."}
    {"type":"toolCall","call":{"id":"replay-1-1","name":"write_file","args":{"file_path":"new.txt","content":"new\n"}}}
    {"type":"toolResult","result":{"id":"replay-1-1","name":"write_file","output":"created new.txt (1 line)"}}
    {"type":"toolCall","call":{"id":"replay-1-2","name":"shell","args":{"command":"git commit --all --message farewell"}}}
    {"type":"finished","id":"[ID]","status":"boundary","changes":[{"path":"new.txt","type":"create","added":1,"removed":0,"binary":false}],"boundary":{"call":{"id":"replay-1-2","name":"shell","args":{"command":"git commit --all --message farewell"}},"verdict":{"decision":"boundary","reason":"writes","detail":"git commit changes the repository or the work tree","effects":[{"kind":"writesWorkspace","detail":"git commit changes the repository or the work tree","span":[4,10]}],"reads":[],"writes":[]}},"next":null,"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"turns":1,"toolCalls":1,"stagedFiles":1,"stagedBytes":4,"modelMs":[TIME],"toolMs":[TIME],"workMs":[TIME]}}
    "#);
}

#[test]
fn a_write_that_the_mode_does_not_allow_is_a_boundary() {
    for mode in ["default", "plan"] {
        let mut session = Session::with_project();
        session.write("home/.config/headstart/config.toml", "ahead_writes = 'boundary'\n");
        let (outcome, _) = run_recording(&mut session, &farewell(), mode);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        let finished = outcome.finished();
        assert_eq!(finished["boundary"]["call"]["name"], "edit", "{mode}");
        assert_eq!(finished["changes"], json!([]));
    }
}

#[test]
fn exhausted_by_a_limit_of_the_configuration() {
    let limits = [
        ("turns = 2", "turns"),
        ("messages = 3", "messages"),
        ("tokens = 1000", "tokens"),
        ("staged_files = 1", "staged"),
        ("staged_bytes = 3", "staged"),
        ("staged_file_bytes = 3", "staged"),
        ("staged_depth = 1", "staged"),
        ("time_seconds = 1", "time"),
    ];
    for (line, limit) in limits {
        let mut session = Session::with_project();
        session.write("home/.config/headstart/config.toml", format!("[limits]\n{line}\n"));
        let mut recording = farewell();
        recording["turns"][1]["usage"] =
            json!({"inputTokens": 900, "cachedInputTokens": 0, "outputTokens": 200});
        if limit == "time" {
            recording["turns"][2]["delayMs"] = json!(60_000);
        }
        let (outcome, _) = run_recording(&mut session, &recording, "auto-edit");
        assert_eq!(outcome.code, Some(1), "{line}: {outcome}");
        let finished = outcome.finished();
        assert_eq!(finished["status"], "exhausted", "{line}: {outcome}");
        assert_eq!(finished["limit"], limit, "{line}: {outcome}");
    }
}

#[test]
fn where_no_file_was_changed_no_diff_is_offered() {
    let session = Session::with_project();
    let model = session.recording(&json!({"turns": [{"text": "Done."}]}));
    let outcome = session.run(&["speculate", "--model", &model, "say farewell"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!outcome.stderr.contains("headstart diff"), "{outcome}");
    assert!(outcome.stderr.contains("no file was changed; headstart show"), "{outcome}");
}

#[test]
fn a_limit_is_told_in_words() {
    let mut session = Session::with_project();
    session.write("home/.config/headstart/config.toml", "[limits]\nstaged_bytes = 3\n");
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let shown = session.run(&["show", &id]);
    assert!(shown.stdout.contains("the limit of what may be staged was reached"), "{shown}");
}

#[test]
fn a_recording_that_ends_too_early_is_a_failure_and_no_completion() {
    let mut session = Session::with_project();
    let mut recording = farewell();
    recording["turns"].as_array_mut().unwrap().truncate(2);
    let (outcome, told) = run_recording(&mut session, &recording, "auto-edit");
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.finished()["error"].as_str().unwrap().contains("recording"), "{outcome}");
    assert!(outcome.finished()["code"].is_string(), "{outcome}");
    insta::assert_snapshot!(told.lines().last().unwrap(), @r#"{"type":"finished","id":"[ID]","status":"failed","changes":[{"path":"greeting.txt","type":"modify","added":1,"removed":1,"binary":false},{"path":"src/farewell.txt","type":"create","added":1,"removed":0,"binary":false}],"boundary":null,"error":"the recording has no turn left after 2","code":"recording_exhausted","next":null,"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"turns":3,"toolCalls":5,"stagedFiles":2,"stagedBytes":27,"modelMs":[TIME],"toolMs":[TIME],"workMs":[TIME]}}"#);
}

/// What other commands, each in a process of its own, say of the work.
#[test]
fn another_process_lists_shows_and_diffs() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let commands = [vec!["list"], vec!["show", &id], vec!["diff", &id]];
    let mut text = String::new();
    for command in &commands {
        let json: Vec<_> = command.iter().copied().chain(["--json"]).collect();
        let outcome = session.run(&json);
        assert!(!outcome.json().is_empty(), "{outcome}");
        text += &outcome.to_string();
    }
    insta::assert_snapshot!(text);
    // Git accepts the same diff as it is printed for people.
    session.write("change.diff", session.run(&["diff", &id]).stdout);
    let mut git = std::process::Command::new("git");
    assert!(
        git.args(["apply", "--check", "../change.diff"])
            .current_dir(session.workspace())
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn people_read_the_calls_the_changes_and_what_to_do_next() {
    let mut session = Session::with_project();
    let model = session.recording(&farewell());
    let before = session.hash();
    let outcome = session.run(&["speculate", "--mode", "auto-edit", "--model", &model, "say farewell"]);
    assert_eq!(session.hash(), before);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let id = session.only_row()["id"].as_str().unwrap().to_owned();
    session.name("ID", &id);
    for word in ["completed", "say farewell", "src/farewell.txt", "greeting.txt", "run the tests"] {
        assert!(outcome.stdout.contains(word), "{word:?} is missing in\n{outcome}");
    }
    for word in ["* shell", &format!("headstart diff {id}"), &format!("accept {id}"), &format!("abort {id}")]
    {
        assert!(outcome.stderr.contains(word), "{word:?} is missing in\n{outcome}");
    }
}

#[test]
fn a_search_beside_a_closed_file_says_that_headstart_closed_it() {
    let mut session = session();
    session
        .write("project/.env", "KEY=hush\n")
        .write("project/src/a.txt", "one\n")
        .write("project/b.txt", "");
    for (call, note) in [
        (
            shell("grep -rn two ."),
            "[closed by headstart to commands that run unasked, and not read: .env; an exit code",
        ),
        (
            shell("grep -rn two . | head -5"),
            "[closed by headstart to commands that run unasked, and not read: .env]",
        ),
        (shell("grep -n two src/a.txt"), ""),
    ] {
        let (outcome, _) =
            session.speculate(&json!({"turns": [{"toolCalls": [call]}, {"text": "Done."}]}), "auto-edit");
        let told = events(&outcome, "toolResult")[0].to_string();
        assert!(told.contains(note), "{told}");
        assert_eq!(told.contains("[exit code "), !note.ends_with(".env]"), "{told}");
        assert_eq!(told.contains("closed"), !note.is_empty(), "{told}");
    }
}
