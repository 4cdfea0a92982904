//! The engine against a scripted model: every ending, accept in every state, abort.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Fixture, Reply, accepted, call, calls, edit, path, says, spawn, write};
use futures::executor::{LocalPool, block_on};
use headstart_forked_query::{
    FinishReason, Message, ModelError, ModelEvent, PairingError, Part, Role, ToolOutcome, check_pairing,
};
use headstart_forked_query::{Money, Price};
use headstart_overlay_fs::{Choice, Keep, Tree};
use headstart_speculation::{
    AcceptError, Acceptance, ConflictResolution, Consent, CostLimit, Ending, Finished, Limit, Limits,
    StartError, Status, Transcript,
};
use headstart_tool_gate::{ApprovalMode, DenyRules};
use serde_json::json;

fn limit(finished: &Finished) -> Option<Limit> {
    match finished.ending {
        Ending::Exhausted { limit } => Some(limit),
        _ => None,
    }
}

#[test]
fn completed_work_is_committed_with_its_history() {
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), write("NEW.md", "new\n")]), says("Done.")]);
    fixture.model.suggest("commit this");
    let before = fixture.tree.snapshot();
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(fixture.tree.snapshot(), before, "nothing changes before an accept");
    assert_eq!(speculation.status(), Status::Completed);
    let accepted = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(fixture.tree.snapshot()["src/lib.rs"], b"pub fn one() -> u32 {\n    2\n}\n");
    assert_eq!(fixture.tree.snapshot()["NEW.md"], b"new\n");
    assert_eq!(accepted.next.as_deref(), Some("commit this"));
    let roles: Vec<_> = accepted.transcript.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Model, Role::Tool, Role::Model]);
    check_pairing(&accepted.transcript.messages).unwrap();
    assert_eq!(finished.cost.turns, 2);
    assert_eq!(finished.cost.tool_calls, 2);
    assert_eq!(finished.cost.staged_files, 2);
    assert_eq!(finished.cost.tokens.cached_input_tokens, 160);
    assert!(0 < finished.cost.work_ms && accepted.time_saved_ms <= finished.cost.work_ms);
}

#[test]
fn an_accept_is_possible_once() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    accepted(block_on(speculation.accept()).unwrap());
    assert!(matches!(block_on(speculation.accept()), Err(AcceptError::AlreadyAccepted { .. })));
}

#[test]
fn requests_begin_with_the_conversation_and_think_no_thoughts() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let _ran = fixture.speculate("do it");
    let requests = fixture.model.requests.lock().unwrap();
    let main = fixture.request();
    for request in requests.iter() {
        assert_eq!(request.system, main.system);
        assert_eq!(request.tools, main.tools);
        assert_eq!(request.messages[..2], main.messages[..]);
        assert!(!request.thinking);
    }
    assert_eq!(requests[0].messages[2], Message::text(Role::User, "do it"));
}

#[test]
fn every_tool_sees_what_was_staged() {
    let fixture = Fixture::new(
        ApprovalMode::AutoEdit,
        [
            calls([write("notes/todo.md", "buy bread\n")]),
            calls([
                call("read_file", &json!({ "file_path": "notes/todo.md" })),
                call("grep", &json!({ "pattern": "bread" })),
                call("glob", &json!({ "pattern": "**/*.md" })),
                call("ls", &json!({ "path": "notes" })),
            ]),
            says("Done."),
        ],
    );
    let (_, finished) = fixture.speculate("do it");
    let results: Vec<_> = finished.transcript.messages[4]
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolResult(result) => result.outcome.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results.len(), 4);
    for (result, expected) in results.iter().zip(["buy bread", "notes/todo.md", "notes/todo.md", "todo.md"]) {
        let ToolOutcome::Output(output) = result else { panic!("{result:?}") };
        assert!(output.as_str().unwrap().contains(expected), "{output} lacks {expected}");
    }
}

#[test]
fn a_boundary_keeps_what_was_done_and_hands_the_call_back() {
    let fixture = Fixture::new(
        ApprovalMode::AutoEdit,
        [
            calls([
                edit(),
                call("shell", &json!({ "command": "touch x" })),
                call("ls", &json!({ "path": "." })),
            ]),
            says("All done."),
        ],
    );
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending.status(), Status::Boundary);
    assert_eq!(finished.pending_call().unwrap().args["command"], "touch x");
    insta::assert_json_snapshot!(&*finished);
    let accepted = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(fixture.tree.snapshot()["src/lib.rs"], b"pub fn one() -> u32 {\n    2\n}\n");
    check_pairing(&accepted.transcript.messages).unwrap();

    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), accepted.transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert_eq!(fixture.host.asked.lock().unwrap().len(), 1);
    // There is one request before the boundary and one after the user's consent. The model was not asked for the call
    // again.
    assert_eq!(fixture.model.requests.lock().unwrap().len(), 2);
    let transcript = turn.transcript();
    check_pairing(&transcript.messages).unwrap();
    assert_eq!(transcript.messages[1].tool_calls().count(), 3);
    assert_eq!(transcript.messages[2].parts.len(), 3);
}

#[test]
fn a_declined_call_is_told_to_the_model() {
    let fixture = Fixture::new(
        ApprovalMode::Default,
        [calls([call("shell", &json!({ "command": "rm -r src" }))]), says("Fine.")],
    );
    let (speculation, _) = fixture.speculate("do it");
    let accepted = accepted(block_on(speculation.accept()).unwrap());
    fixture.host.consents.lock().unwrap().push_back(Consent::Decline);
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), accepted.transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    let Part::ToolResult(result) = &turn.transcript().messages[2].parts[0] else { panic!() };
    assert_eq!(result.outcome, ToolOutcome::Error("the user declined this call".into()));
}

#[test]
fn edits_are_boundaries_where_the_mode_asks() {
    for mode in [ApprovalMode::Default, ApprovalMode::Plan] {
        let fixture = Fixture::new(mode, [calls([edit()]), says("Done.")]);
        let (_, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending.status(), Status::Boundary, "{mode:?}");
        assert!(finished.changes.is_empty());
    }
}

#[test]
fn a_command_that_may_read_a_staged_file_is_a_boundary() {
    let reads = call("shell", &json!({ "command": "cat src/lib.rs" }));
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([reads.clone(), edit(), reads]), says("Done.")]);
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending.status(), Status::Boundary);
    assert_eq!(finished.cost.tool_calls, 2, "the first command ran: nothing was staged then");

    let elsewhere = call("shell", &json!({ "command": "cat README.md" }));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), elsewhere]), says("Done.")]);
    assert_eq!(fixture.speculate("do it").1.ending, Ending::Completed);
}

#[test]
fn a_link_does_not_hide_that_a_command_reads_a_staged_file() {
    let linked = call("shell", &json!({ "command": "cat link" }));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), linked]), says("Done.")]);
    fixture.tree.link(&path("link"), "src/lib.rs");
    assert_eq!(fixture.speculate("do it").1.ending.status(), Status::Boundary);
}

#[test]
fn a_command_that_reads_behind_a_link_is_a_boundary_even_where_nothing_is_staged() {
    let linked = call("shell", &json!({ "command": "cat link" }));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([linked]), says("Done.")]);
    fixture.tree.link(&path("link"), "src/lib.rs");
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending.status(), Status::Boundary);
    assert_eq!(finished.cost.tool_calls, 0);
}

#[test]
fn a_file_that_a_command_read_counts_at_accept() {
    let reads = call("shell", &json!({ "command": "cat README.md" }));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([reads, write("NEW.md", "x")]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    fixture.tree.write(&path("README.md"), "# simple\n");
    let Acceptance::Conflict(conflicts) = block_on(speculation.accept()).unwrap() else { panic!() };
    assert_eq!(conflicts[0].path, path("README.md"));
}

#[test]
fn a_tool_that_does_not_exist_is_an_error_that_the_model_can_act_on() {
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([call("fly", &json!({}))]), says("I cannot fly.")]);
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    let Part::ToolResult(result) = &finished.transcript.messages[2].parts[0] else { panic!() };
    assert!(
        matches!(&result.outcome, ToolOutcome::Error(message) if message.contains("fly") && message.contains("read_file"))
    );
}

#[test]
fn arguments_of_the_wrong_type_are_an_error_that_the_model_can_act_on() {
    let fixture = Fixture::new(
        ApprovalMode::AutoEdit,
        [calls([call("read_file", &json!({ "file_path": 7 }))]), says("Sorry.")],
    );
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    let Part::ToolResult(result) = &finished.transcript.messages[2].parts[0] else { panic!() };
    assert!(
        matches!(&result.outcome, ToolOutcome::Error(message) if message.contains("file_path")),
        "{result:?}"
    );
}

#[test]
fn a_limit_or_an_empty_reply_is_never_completed() {
    let list = || calls([call("ls", &json!({ "path": "." }))]);

    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [list(), list(), list()]);
    fixture.engine.limits.turns = 2;
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(limit(&finished), Some(Limit::Turns));
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(given.transcript.messages.len(), 5, "what was done until then is given");

    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [list(), list()]);
    fixture.engine.limits.messages = 3;
    assert_eq!(limit(&fixture.speculate("do it").1), Some(Limit::Messages));

    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [list(), list()]);
    fixture.engine.limits.tokens = 100;
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(limit(&finished), Some(Limit::Tokens));
    assert!(finished.transcript.pending_call().is_some(), "the call is kept for whoever goes on");

    let money = |units| Money::new(units).unwrap();
    let price = Price::new(money(1.0), money(0.1), money(4.0));
    for (most, expected) in [(0.000_001, Some(Limit::Cost)), (1.0, None)] {
        let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [list(), says("Done.")]);
        fixture.engine.limits.cost = Some(CostLimit { price, most: money(most) });
        assert_eq!(limit(&fixture.speculate("do it").1), expected);
    }

    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([write("a", "four"), write("b", "four")])]);
    fixture.engine.limits.staged.bytes = 6;
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(limit(&finished), Some(Limit::Staged));
    assert_eq!(finished.changes.changes.len(), 1);

    let cut =
        Reply::Events(vec![ModelEvent::Text("and so".into()), ModelEvent::Finished(FinishReason::Length)]);
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [cut]);
    assert_eq!(limit(&fixture.speculate("do it").1), Some(Limit::Output));

    for silence in [says(" \n"), Reply::Events(vec![ModelEvent::Finished(FinishReason::Stop)]), Reply::Cut] {
        let fixture = Fixture::new(ApprovalMode::AutoEdit, [silence]);
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending.status(), Status::Failed, "{finished:?}");
        assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Nothing);
    }
}

#[test]
fn the_clock_ends_a_model_that_never_answers() {
    let dropped = Arc::new(AtomicBool::new(false));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), Reply::Hangs(Arc::clone(&dropped))]);
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    pool.run_until_stalled();
    assert_eq!(speculation.status(), Status::Running);
    drop(speculation);

    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), Reply::Hangs(Arc::clone(&dropped))]);
    fixture.host.time_is_up.store(true, Ordering::SeqCst);
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(limit(&finished), Some(Limit::Time));
}

#[test]
fn a_failing_model_leaves_what_was_done() {
    let retry_after = Some(Duration::from_millis(1500));
    let error =
        ModelError::Server { provider: "test".into(), status: 500, message: "no".into(), retry_after };
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), Reply::Fails(error)]);
    let (speculation, finished) = fixture.speculate("do it");
    let ending = json!({
        "status": "failed", "error": "test failed (500): no; retry after 2 s", "code": "server", "retryAfterMs": 1500,
    });
    assert_eq!(serde_json::to_value(&finished.ending).unwrap(), ending);
    // Older records have no code.
    let old = serde_json::from_value(json!({ "status": "failed", "error": "no" })).unwrap();
    assert_eq!(Ending::Failed { error: "no".into(), code: None, retry_after_ms: None }, old);
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(given.ending.status(), Status::Failed);
    assert_eq!(given.transcript.messages.len(), 3);
}

#[test]
fn abort_drops_the_request_at_once_and_leaves_nothing() {
    let dropped = Arc::new(AtomicBool::new(false));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), Reply::Hangs(Arc::clone(&dropped))]);
    let before = fixture.tree.snapshot();
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    pool.run_until_stalled();
    assert_eq!(speculation.changes().changes.len(), 1);
    assert!(!dropped.load(Ordering::SeqCst));
    speculation.abort();
    assert!(dropped.load(Ordering::SeqCst), "the request is gone before abort returns");
    assert_eq!(speculation.status(), Status::Aborted);
    assert!(speculation.changes().is_empty());
    pool.run();
    assert_eq!(block_on(speculation.finished()).ending, Ending::Aborted);
    assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Nothing);
    assert_eq!(block_on(speculation.next()), None);
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn abort_after_the_end_gives_nothing_either() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    speculation.abort();
    assert_eq!(speculation.status(), Status::Aborted);
    assert_eq!(block_on(speculation.accept()).unwrap(), Acceptance::Nothing);
}

#[test]
fn what_was_accepted_stays_accepted() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (speculation, finished) = fixture.speculate("do it");
    accepted(block_on(speculation.accept()).unwrap());
    let after = fixture.tree.snapshot();
    speculation.abort();
    assert_eq!(speculation.status(), Status::Completed);
    assert_eq!(block_on(speculation.finished()), finished);
    assert_eq!(speculation.changes(), finished.changes);
    assert!(matches!(block_on(speculation.accept()), Err(AcceptError::AlreadyAccepted { .. })));
    assert_eq!(fixture.tree.snapshot(), after);
}

#[test]
fn accepting_a_running_speculation_joins_it() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (speculation, driver, _events) = fixture.start("do it");
    assert_eq!(speculation.status(), Status::Running);
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    let accepted = accepted(pool.run_until(speculation.accept()).unwrap());
    assert_eq!(accepted.ending, Ending::Completed);
    assert_eq!(fixture.tree.snapshot()["src/lib.rs"], b"pub fn one() -> u32 {\n    2\n}\n");
}

#[test]
fn a_users_edit_meanwhile_is_a_conflict_and_stays() {
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), write("NEW.md", "x")]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    fixture.tree.write(&path("src/lib.rs"), "mine\n");
    let before = fixture.tree.snapshot();
    let Acceptance::Conflict(conflicts) = block_on(speculation.accept()).unwrap() else { panic!() };
    assert_eq!(conflicts[0].path, path("src/lib.rs"));
    assert_eq!(fixture.tree.snapshot(), before);
    assert!(matches!(block_on(speculation.accept()).unwrap(), Acceptance::Conflict(_)), "one may try again");
}

#[test]
fn what_the_user_says_to_a_conflict_is_accepted_with_the_rest() {
    let base = "pub fn one() -> u32 {\n    1\n}\n";
    let marked = "pub fn one() -> u32 {\n<<<<<<< yours\n    3\n||||||| base\n    1\n=======\n    2\n>>>>>>> the work\n}\n";
    let mine = base.replace('1', "3");
    let cases = [
        (Keep::Yours, mine.as_str(), Some("The user kept their own version of these files")),
        (Keep::Work, "pub fn one() -> u32 {\n    2\n}\n", None),
        (Keep::Markers, marked, Some("with conflict markers where they overlap: src/lib.rs.")),
    ];
    for (keep, content, note) in cases {
        let fixture =
            Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), write("NEW.md", "x")]), says("Done.")]);
        let (speculation, _) = fixture.speculate("do it");
        fixture.tree.write(&path("src/lib.rs"), mine.as_str());
        let Acceptance::Conflict(conflicts) = block_on(speculation.accept()).unwrap() else { panic!() };
        let choices: Vec<_> = conflicts.into_iter().map(|conflict| Choice { conflict, keep }).collect();
        let accepted = accepted(block_on(speculation.accept_with(&choices.into())).unwrap());
        assert_eq!(fixture.tree.snapshot()["src/lib.rs"], content.as_bytes());
        assert_eq!(fixture.tree.snapshot()["NEW.md"], b"x");
        assert_eq!(accepted.conflict_resolutions, [ConflictResolution { path: path("src/lib.rs"), keep }]);
        assert_eq!(accepted.changes.len(), if keep == Keep::Yours { 1 } else { 2 });
        let said = accepted.note();
        assert_eq!(said.is_some(), note.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(note.unwrap_or_default()));
    }
}

#[test]
fn a_file_that_was_only_read_counts_too() {
    let read = call("read_file", &json!({ "file_path": "README.md" }));
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([read, write("NEW.md", "x")]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    fixture.tree.write(&path("README.md"), "other\n");
    assert!(matches!(block_on(speculation.accept()).unwrap(), Acceptance::Conflict(_)));
}

#[test]
fn what_is_withdrawn_meanwhile_counts_at_accept() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (speculation, _) = fixture.speculate("do it");
    let before = fixture.tree.snapshot();
    fixture.host.set_mode(ApprovalMode::Default);
    let Acceptance::Withdrawn { call, .. } = block_on(speculation.accept()).unwrap() else { panic!() };
    assert_eq!(call.name, "edit");
    assert_eq!(fixture.tree.snapshot(), before);
    fixture.host.set_mode(ApprovalMode::AutoEdit);
    accepted(block_on(speculation.accept()).unwrap());
}

#[test]
fn a_rule_that_came_meanwhile_counts_for_every_path_behind_every_name() {
    let deny = |pattern: &str| DenyRules::from_patterns([pattern]).unwrap();
    let cases = [
        ("secrets", write("link/s.txt", "mine now\n")),
        ("secrets", call("read_file", &json!({ "file_path": "link/s.txt" }))),
        ("s.txt", call("grep", &json!({ "pattern": "old" }))),
    ];
    for (pattern, ran) in cases {
        let fixture =
            Fixture::new(ApprovalMode::AutoEdit, [calls([ran.clone(), write("NEW.md", "x")]), says("Done.")]);
        fixture.tree.write(&path("secrets/s.txt"), "old\n");
        fixture.tree.link(&path("link"), "secrets");
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending, Ending::Completed, "{ran:?}");
        let before = fixture.tree.snapshot();
        fixture.host.rules.lock().unwrap().deny = deny(pattern);
        let acceptance = block_on(speculation.accept()).unwrap();
        assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{ran:?}: {acceptance:?}");
        assert_eq!(fixture.tree.snapshot(), before);
    }
}

#[test]
fn a_record_that_was_tampered_with_cannot_reach_what_git_runs() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([write("NEW.md", "x")]), says("Done.")]);
    let (_, finished) = fixture.speculate("do it");
    let mut tampered = (*finished).clone();
    tampered.changes.changes[0].path = path(".git/hooks/pre-commit");
    let acceptance = block_on(fixture.engine.accept(&tampered)).unwrap();
    assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{acceptance:?}");
}

#[test]
fn commands_and_blanks_are_not_started() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, []);
    for prompt in ["", " \n", "/commit", " /clear"] {
        let error = fixture.engine.start("x", &fixture.params(), prompt).err().unwrap();
        assert!(matches!(error, StartError::Empty | StartError::Command { .. }), "{prompt:?}");
    }
}

#[test]
fn a_record_survives_json() {
    let fixture =
        Fixture::new(ApprovalMode::AutoEdit, [calls([edit(), call("shell", &json!({ "command": "make" }))])]);
    let (_, finished) = fixture.speculate("do it");
    let json = serde_json::to_string(&*finished).unwrap();
    let back: Finished = serde_json::from_str(&json).unwrap();
    assert_eq!(back, *finished);
    let accepted = accepted(block_on(fixture.engine.accept(&back)).unwrap());
    assert!(accepted.transcript.pending_call().is_some());
    assert_eq!(
        block_on(fixture.tree.read(&path("src/lib.rs"))).unwrap(),
        b"pub fn one() -> u32 {\n    2\n}\n"
    );
}

#[test]
fn a_damaged_record_is_refused() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    let (_, finished) = fixture.speculate("do it");
    let mut damaged = (*finished).clone();
    damaged.transcript.messages.remove(2);
    let before = fixture.tree.snapshot();
    let Err(error @ AcceptError::InvalidTranscript { .. }) = block_on(fixture.engine.accept(&damaged)) else {
        panic!("a call has no result")
    };
    assert!(error.source().is_some_and(<dyn Error>::is::<PairingError>), "{error:?}");
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn a_foreground_turn_commits_as_it_goes_and_asks_first() {
    let fixture = Fixture::new(
        ApprovalMode::Default,
        [calls([edit()]), calls([call("read_file", &json!({ "file_path": "src/lib.rs" }))]), says("Done.")],
    );
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("do it"),
        Limits::default(),
    );
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert_eq!(fixture.tree.snapshot()["src/lib.rs"], b"pub fn one() -> u32 {\n    2\n}\n");
    let asked = fixture.host.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].name, "edit");
}
