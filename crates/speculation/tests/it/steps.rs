//! Steps that run on top of each other: the suggestion that follows speculated work is speculated, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Fixture, Reply, accepted, call, calls, edit, path, read, says, spawn, write};
use futures::StreamExt;
use futures::executor::{LocalPool, block_on};
use headstart_forked_query::{Message, Part, Role, ToolOutcome, check_pairing};
use headstart_speculation::{AcceptError, Acceptance, Ending, Limit, Limits, Speculation, Status};
use headstart_tool_gate::{ApprovalMode, DenyRules};
use serde_json::json;

/// A fixture that allows so many steps, with a suggestion after each answer that ends a step.
fn fixture(depth: u32, answers: impl IntoIterator<Item = Reply>) -> Fixture {
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    fixture.engine.limits.depth = depth;
    for suggestion in ["add tests for it", "update the changelog", "commit this", "push it"] {
        fixture.model.suggest(suggestion);
    }
    fixture
}

/// The first step, run on a pool until nothing can go on.
fn start(fixture: &Fixture) -> (LocalPool, Speculation) {
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    pool.run_until_stalled();
    (pool, speculation)
}

fn above(pool: &mut LocalPool, speculation: &Speculation) -> Speculation {
    pool.run_until(speculation.above()).expect("a step stands on it")
}

fn two_steps() -> [Reply; 4] {
    [
        calls([edit(), write("tests/one.rs", "// none yet\n")]),
        says("It gives two."),
        calls([read("src/lib.rs"), write("tests/one.rs", "// one\n"), write("tests/two.rs", "// two\n")]),
        says("There are tests."),
    ]
}

#[test]
fn by_default_the_next_step_is_only_suggested() {
    let fixture = fixture(1, two_steps());
    let (speculation, driver, _events) = fixture.start("do it");
    block_on(driver);
    assert_eq!(block_on(speculation.next()).unwrap().best().as_str(), "add tests for it");
    assert!(block_on(speculation.above()).is_none());
    assert!(fixture.host.steps.lock().unwrap().is_empty(), "nobody is asked");
    assert_eq!(fixture.model.requests.lock().unwrap().len(), 3);
}

#[test]
fn the_next_step_runs_on_top_of_the_first() {
    let fixture = fixture(2, two_steps());
    let before = fixture.tree.snapshot();
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    assert_eq!(
        (second.id(), second.prompt(), second.status()),
        ("s1+", "add tests for it", Status::Completed)
    );
    assert_eq!(fixture.tree.snapshot(), before, "nothing changes before an accept");

    let requests = fixture.model.requests.lock().unwrap();
    let mut conversation = Fixture::history();
    conversation.extend(first.transcript().messages);
    conversation.push(Message::text(Role::User, "add tests for it"));
    assert_eq!(requests[3].messages, conversation, "the conversation is the one after the first step");
    drop(requests);
    let seen = second.transcript().messages[2].parts[0].clone();
    let Part::ToolResult(seen) = seen else { panic!("{seen:?}") };
    assert_eq!(seen.outcome, ToolOutcome::Output(json!("pub fn one() -> u32 {\n    2\n}\n")));

    let given = accepted(pool.run_until(first.accept()).unwrap());
    assert_eq!(given.next.as_deref(), Some("add tests for it"));
    assert_eq!(fixture.tree.snapshot()["tests/one.rs"], b"// none yet\n");
    let given = accepted(pool.run_until(second.accept()).unwrap());
    assert_eq!(given.next.as_deref(), Some("update the changelog"));
    assert_eq!(fixture.tree.snapshot()["tests/one.rs"], b"// one\n");
    let whole = [Fixture::history(), first.transcript().messages, second.transcript().messages].concat();
    check_pairing(&whole).unwrap();
}

#[test]
fn each_step_has_its_own_cost_and_limits() {
    let fixture = fixture(2, two_steps());
    *fixture.host.limits_above.lock().unwrap() = Some(Limits { turns: 1, depth: 2, ..Limits::default() });
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    assert_eq!((first.cost().turns, first.cost().tool_calls), (2, 2));
    assert_eq!((second.cost().turns, second.cost().tool_calls), (1, 3));
    assert_eq!(pool.run_until(second.finished()).ending, Ending::Exhausted { limit: Limit::Turns });
    let asked = fixture.host.steps.lock().unwrap();
    assert_eq!((asked[0].below.as_str(), asked[0].prompt.as_str()), ("s1", "add tests for it"));
}

#[test]
fn the_second_is_not_accepted_before_the_first() {
    let fixture = fixture(2, two_steps());
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    let before = fixture.tree.snapshot();
    let error = pool.run_until(second.accept()).unwrap_err();
    assert!(matches!(error, AcceptError::BaseNotAccepted { .. }));
    assert_eq!(
        error.to_string(),
        "speculation s1+ stands on s1, which is not accepted yet; accept that one first"
    );
    assert_eq!(fixture.tree.snapshot(), before);
    accepted(pool.run_until(first.accept()).unwrap());
    accepted(pool.run_until(second.accept()).unwrap());
}

#[test]
fn the_host_has_the_last_word() {
    let fixture = fixture(3, two_steps());
    fixture.host.refuses_steps.store(true, Ordering::SeqCst);
    let (speculation, driver, _events) = fixture.start("do it");
    block_on(driver);
    assert!(block_on(speculation.above()).is_none());
    assert_eq!(fixture.host.steps.lock().unwrap().len(), 1);
    accepted(block_on(speculation.accept()).unwrap());
}

#[test]
fn only_completed_work_carries_another_step() {
    let stops = [calls([call("shell", &json!({ "command": "touch x" }))])];
    for answers in [stops.to_vec(), vec![Reply::Cut]] {
        let fixture = fixture(3, answers);
        let (speculation, driver, _events) = fixture.start("do it");
        block_on(driver);
        assert!(block_on(speculation.above()).is_none());
        assert!(fixture.host.steps.lock().unwrap().is_empty());
    }
}

#[test]
fn as_many_steps_run_ahead_as_the_host_wants_and_an_accept_makes_room() {
    let answers = (1..=5).flat_map(|step| [calls([write(&format!("{step}.txt"), "x")]), says("Done.")]);
    for depth in [2, 3] {
        let fixture = fixture(depth, answers.clone());
        let (mut pool, mut step) = start(&fixture);
        for number in 1..=3 {
            let ahead = fixture
                .model
                .requests
                .lock()
                .unwrap()
                .iter()
                .filter(|it| it.response_schema.is_none())
                .count();
            assert_eq!(ahead, 2 * (number - 1 + depth as usize).min(5), "two requests for each step");
            accepted(pool.run_until(step.accept()).unwrap());
            pool.run_until_stalled();
            step = above(&mut pool, &step);
            assert!(fixture.tree.snapshot().contains_key(&format!("{number}.txt")));
            assert!(!fixture.tree.snapshot().contains_key(&format!("{}.txt", number + 1)));
        }
    }
}

#[test]
fn a_user_may_accept_any_number_of_steps() {
    let many = 300;
    let answers = (0..many).flat_map(|step| [calls([write(&format!("{step}/{step}"), "x")]), says("Done.")]);
    let fixture = fixture(2, answers);
    for _ in 0..many {
        fixture.model.suggest("go on with it");
    }
    let (mut pool, mut step) = start(&fixture);
    for number in 0..many - 1 {
        accepted(pool.run_until(step.accept()).unwrap());
        pool.run_until_stalled();
        step = above(&mut pool, &step);
        assert_eq!(step.id().len(), "s1+".len() + number);
    }
    assert!(fixture.tree.snapshot().contains_key("298/298"));
}

#[test]
fn an_abort_takes_all_steps_above_along() {
    let dropped = Arc::new(AtomicBool::new(false));
    let mut answers = two_steps().to_vec();
    answers.extend([calls([write("CHANGELOG.md", "news\n")]), Reply::Hangs(Arc::clone(&dropped))]);
    let fixture = fixture(3, answers);
    let before = fixture.tree.snapshot();
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    let third = above(&mut pool, &second);
    assert_eq!(third.status(), Status::Running);
    assert_eq!(third.changes().changes.len(), 1);
    first.abort();
    assert!(dropped.load(Ordering::SeqCst), "the request is gone before abort returns");
    for step in [&first, &second, &third] {
        assert_eq!(step.status(), Status::Aborted);
        assert!(step.changes().is_empty());
        assert_eq!(pool.run_until(step.accept()).unwrap(), Acceptance::Nothing);
    }
    assert!(pool.run_until(first.above()).is_none());
    pool.run();
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn an_abort_leaves_what_is_below() {
    let dropped = Arc::new(AtomicBool::new(false));
    let answers = [calls([edit()]), says("Done."), Reply::Hangs(Arc::clone(&dropped))];
    let fixture = fixture(2, answers);
    let (mut pool, first) = start(&fixture);
    above(&mut pool, &first).abort();
    assert!(dropped.load(Ordering::SeqCst));
    pool.run();
    accepted(pool.run_until(first.accept()).unwrap());
}

#[test]
fn what_was_accepted_stays_when_a_step_above_is_aborted() {
    let fixture = fixture(2, two_steps());
    let (mut pool, first) = start(&fixture);
    accepted(pool.run_until(first.accept()).unwrap());
    let after = fixture.tree.snapshot();
    above(&mut pool, &first).abort();
    first.abort();
    assert_eq!(fixture.tree.snapshot(), after);
}

/// The host agrees to a step long after it was asked, when the step is no longer wanted.
#[test]
fn no_step_starts_on_what_was_aborted_meanwhile() {
    let fixture = fixture(2, two_steps());
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    fixture.host.wait_with_steps(true);
    spawn(&pool, driver);
    pool.run_until_stalled();
    assert_eq!(fixture.host.steps.lock().unwrap().len(), 1, "the host is asked, and thinks");
    speculation.abort();
    fixture.host.wait_with_steps(false);
    pool.run();
    assert!(pool.run_until(speculation.above()).is_none());
    assert_eq!(fixture.model.requests.lock().unwrap().len(), 3);
}

#[test]
fn the_events_of_a_step_above_are_for_whoever_asks_first() {
    let fixture = fixture(2, two_steps());
    let (mut pool, first) = start(&fixture);
    assert!(first.events().is_none(), "those came when it was started");
    let second = above(&mut pool, &first);
    let told = pool.run_until(second.events().unwrap().collect::<Vec<_>>());
    assert_eq!(told.len(), 7, "three calls, three results, a text");
    assert!(second.events().is_none());
}

#[test]
fn an_edit_of_what_the_step_above_rests_on_is_a_conflict() {
    // The edit is of a file that both steps changed, of one that the first wrote and the second read, or of one that
    // was only read.
    let cases = [("tests/one.rs", "// mine\n"), ("src/lib.rs", "mine\n"), ("README.md", "# mine\n")];
    for (at, mine) in cases {
        let answers = [
            calls([edit(), write("tests/one.rs", "// none yet\n")]),
            says("It gives two."),
            calls([read("README.md"), read("src/lib.rs"), write("tests/one.rs", "// one\n")]),
            says("There are tests."),
        ];
        let fixture = fixture(2, answers);
        let (mut pool, first) = start(&fixture);
        let second = above(&mut pool, &first);
        accepted(pool.run_until(first.accept()).unwrap());
        fixture.tree.write(&path(at), mine);
        let before = fixture.tree.snapshot();
        let Acceptance::Conflict(found) = pool.run_until(second.accept()).unwrap() else { panic!("{at}") };
        assert_eq!(found[0].path, path(at));
        assert_eq!(fixture.tree.snapshot(), before);
    }
}

#[test]
fn what_the_first_accept_merged_is_seen_by_the_step_above() {
    const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    let change = |from: &str, to: &str| {
        call("edit", &json!({ "file_path": "lines", "old_string": from, "new_string": to }))
    };
    let cases = [
        // This step read the file in a state that the merge never produced.
        (vec![read("lines"), write("tests/one.rs", "")], false),
        // This step is about another file.
        (vec![write("tests/one.rs", "")], true),
    ];
    for (ran, fits) in cases {
        let answers = [calls([change("one\n", "1\n")]), says("Done."), calls(ran), says("Done.")];
        let fixture = fixture(2, answers);
        fixture.tree.write(&path("lines"), LINES);
        let (mut pool, first) = start(&fixture);
        let second = above(&mut pool, &first);
        fixture.tree.write(&path("lines"), LINES.replace("seven", "7"));
        let given = accepted(pool.run_until(first.accept()).unwrap());
        assert_eq!(given.merged, [path("lines")]);
        let outcome = pool.run_until(second.accept()).unwrap();
        assert_eq!(matches!(outcome, Acceptance::Accepted(_)), fits, "{outcome:?}");
        assert_eq!(
            fixture.tree.snapshot()["lines"],
            LINES.replace("one", "1").replace("seven", "7").as_bytes()
        );
    }
}

#[test]
fn a_conflict_below_holds_back_what_is_above() {
    let fixture = fixture(2, two_steps());
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    fixture.tree.write(&path("src/lib.rs"), "mine\n");
    let before = fixture.tree.snapshot();
    assert!(matches!(pool.run_until(first.accept()).unwrap(), Acceptance::Conflict(_)));
    assert!(matches!(pool.run_until(second.accept()), Err(AcceptError::BaseNotAccepted { .. })));
    assert_eq!(fixture.tree.snapshot(), before);
}

#[test]
fn a_rule_that_came_between_two_accepts_counts() {
    let fixture = fixture(2, two_steps());
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    accepted(pool.run_until(first.accept()).unwrap());
    fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["tests/two.rs"]).unwrap();
    let before = fixture.tree.snapshot();
    assert!(matches!(pool.run_until(second.accept()).unwrap(), Acceptance::Withdrawn { .. }));
    assert_eq!(fixture.tree.snapshot(), before);
}

/// A command sees the real tree, so it would not see what a step below has staged.
#[test]
fn a_command_that_may_read_what_a_step_below_staged_is_a_boundary() {
    let reads = call("shell", &json!({ "command": "cat src/lib.rs" }));
    let answers = || [calls([edit()]), says("Done."), calls([reads.clone()]), says("Two.")];
    let bench_of = |answers| fixture(2, answers);
    let fixture = bench_of(answers());
    let (mut pool, first) = start(&fixture);
    let second = above(&mut pool, &first);
    assert_eq!(second.status(), Status::Boundary);
    accepted(pool.run_until(first.accept()).unwrap());
    let given = accepted(pool.run_until(second.accept()).unwrap());
    assert_eq!(given.transcript.pending_call().unwrap().args["command"], "cat src/lib.rs");

    // If the lower step is accepted before the step above comes to its command, the command sees that work on the real
    // tree.
    let fixture = bench_of(answers());
    fixture.host.wait_with_steps(true);
    let (mut pool, first) = start(&fixture);
    accepted(pool.run_until(first.accept()).unwrap());
    fixture.host.wait_with_steps(false);
    let second = above(&mut pool, &first);
    assert_eq!(pool.run_until(second.finished()).ending, Ending::Completed);
}

#[test]
fn a_joined_step_starts_the_next_one_as_well() {
    let fixture = fixture(2, two_steps());
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    accepted(pool.run_until(speculation.accept()).unwrap());
    let second = above(&mut pool, &speculation);
    assert_eq!(pool.run_until(second.finished()).ending, Ending::Completed);
    accepted(pool.run_until(second.accept()).unwrap());
    assert_eq!(fixture.tree.snapshot()["tests/two.rs"], b"// two\n");
}
