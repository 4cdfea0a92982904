//! Sub-tasks: what they may do, what they leave behind, and what the conversation that started them reads.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::executor::{LocalPool, block_on};
use futures::task::LocalSpawnExt;
use futures::{FutureExt, StreamExt};
use headstart_forked_query::{Message, ModelError, ModelEvent, Part, ToolOutcome, check_pairing};
use headstart_speculation::{
    Acceptance, Consent, Ending, Event, Finished, Limit, Limits, TaskLimits, Transcript, task_declaration,
    task_title, task_tool,
};
use headstart_tool_gate::{ApprovalMode, PolicyOrigin, Reason, ToolPolicies, ToolPolicy, ToolTable};
use headstart_toolbox::ScriptedRun;
use serde_json::json;

use crate::shadow::{ViewFixture, changed, with_views};
use crate::support::{Fixture, Reply, accepted, call, calls, edit, path, read, says, shell, write};

/// A fixture whose model may start sub-tasks.
fn fixture(mode: ApprovalMode, answers: impl IntoIterator<Item = Reply>) -> Fixture {
    with_tasks(Fixture::new(mode, answers))
}

fn with_tasks(mut fixture: Fixture) -> Fixture {
    fixture.engine.toolbox = fixture.engine.toolbox.clone().with(task_tool());
    fixture.host.rules.lock().unwrap().tools = vec![task_declaration()];
    fixture
}

fn task(prompt: &str) -> ModelEvent {
    call("task", &json!({ "title": "a part", "prompt": prompt }))
}

/// Runs a turn to its end.
fn turn(fixture: &Fixture, limits: &Limits) -> (Ending, Transcript, u64) {
    let transcript = Transcript::new("go");
    let (turn, _events) = fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, *limits);
    let ending = block_on(turn.run());
    (ending, turn.transcript(), turn.cost().spent_tokens())
}

fn results(messages: &[Message]) -> Vec<Result<String, String>> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(&result.outcome),
        _ => None,
    });
    results
        .map(|outcome| match outcome {
            ToolOutcome::Output(text) => Ok(text.as_str().unwrap().to_owned()),
            ToolOutcome::Error(error) => Err(error.clone()),
        })
        .collect()
}

fn text_of(message: &Message) -> &str {
    match &message.parts[0] {
        Part::Text { text } => text,
        other => panic!("no text: {other:?}"),
    }
}

/// The model's answers for a turn with a sub-task, which are the same in the foreground and ahead. The last one ends
/// the turn.
fn whole_part() -> Vec<Reply> {
    vec![
        calls([write("before.txt", "b\n"), task("  make it 2, @README.md  ")]),
        calls([read("src/lib.rs"), read("README.md")]),
        calls([edit(), shell("cat README.md")]),
        says("lib.rs says 2 now."),
        calls([read("src/lib.rs")]),
        says("All done."),
    ]
}

#[test]
fn a_part_is_done_in_a_conversation_of_its_own_in_a_turn_and_ahead() {
    let came_to = "lib.rs says 2 now.\n[2 reads, 1 edit, 1 command; edited src/lib.rs]";
    let in_turn = fixture(ApprovalMode::AutoEdit, whole_part());
    let (ending, transcript, tokens) = turn(&in_turn, &Limits::default());
    assert_eq!(ending, Ending::Completed);
    assert_eq!(results(&transcript.messages)[1], Ok(came_to.to_owned()));
    assert_eq!(tokens, 6 * 110, "all six answers are counted");
    check_pairing(&transcript.messages).unwrap();

    let ahead = fixture(ApprovalMode::AutoEdit, whole_part());
    let before = ahead.tree.snapshot();
    let (speculation, finished) = ahead.speculate("go");
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(finished.transcript, transcript, "the conversation is that of a turn");
    assert_eq!((finished.cost.spent_tokens(), finished.cost.turns, finished.cost.tool_calls), (660, 6, 7));
    assert_eq!(ahead.tree.snapshot(), before);
    let ran: Vec<_> = finished.task_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(ran, ["read_file", "read_file", "edit", "shell"]);
    let kept: Finished = serde_json::from_str(&serde_json::to_string(&*finished).unwrap()).unwrap();
    assert_eq!(kept, *finished, "a record holds all of it");
    accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(ahead.tree.snapshot(), in_turn.tree.snapshot());

    for fixture in [in_turn, ahead] {
        let requests = fixture.model.requests.lock().unwrap();
        let names = |at: usize| requests[at].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>();
        let part = &requests[1];
        assert!(
            names(0).contains(&"task") && !names(1).contains(&"task") && names(1).len() + 1 == names(0).len()
        );
        assert_eq!((&part.system, part.messages.len()), (&requests[0].system, 1));
        let prompt = text_of(&part.messages[0]);
        assert!(prompt.ends_with("\n\nmake it 2, @README.md"), "no mention is read: {prompt}");
        let (first, second) = (&requests[1].messages, &requests[2].messages);
        assert_eq!(second[..first.len()], first[..], "its own requests only grow");
        assert!(requests[4].messages.len() == requests[0].messages.len() + 2, "the part is one call");
    }
}

#[test]
fn a_boundary_in_a_part_is_one_of_the_whole_and_nothing_of_the_part_is_left() {
    let answers = [
        calls([write("before.txt", "b\n"), task("do it")]),
        calls([edit(), write("part.txt", "p\n"), shell("curl https://example.org")]),
    ];
    let fixture = fixture(ApprovalMode::AutoEdit, answers);
    let (speculation, finished) = fixture.speculate("go");
    let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
    assert!(verdict.detail.starts_with("in the sub-task: "), "{}", verdict.detail);
    assert_eq!(finished.pending_call().map(|call| call.name.as_str()), Some("task"));
    assert_eq!(changed(&finished), ["before.txt"]);
    assert_eq!((results(&finished.transcript.messages).len(), finished.task_calls.len()), (1, 0));
    assert_eq!(finished.cost.turns, 2, "what it cost is counted all the same");

    // A user who takes the work continues with the sub-task from its beginning, and is asked about its call.
    let taken = accepted(block_on(speculation.accept()).unwrap());
    let again = Fixture::over(
        fixture.tree.clone(),
        fixture.tree.clone(),
        ApprovalMode::AutoEdit,
        [calls([shell("curl https://example.org")]), says("It is there."), says("All done.")],
    );
    let again = with_tasks(again);
    again.host.consents.lock().unwrap().push_back(Consent::Run);
    let (turn, _events) =
        again.engine.turn(again.model.clone(), again.request(), taken.transcript, Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert_eq!(again.host.asked.lock().unwrap()[0].name, "shell");
    let results = results(&turn.transcript().messages);
    assert_eq!(results[1], Ok("It is there.\n[1 command]".to_owned()));
}

#[test]
fn what_a_part_did_in_a_view_goes_with_it() {
    let answers = [calls([task("do it")]), calls([shell("cargo fmt"), shell("cargo test")])];
    let ViewFixture { fixture, views } = with_views(ApprovalMode::AutoEdit, answers);
    let fixture = with_tasks(fixture);
    views.play("cargo fmt", ScriptedRun::new("", 0).writing(path("src/lib.rs"), "formatted\n"));
    // The command needs a network and fails, because a view cannot give it one.
    views.play("cargo test", ScriptedRun::new("no network", 1).with(|answer| answer.refused.network = 1));
    let (_, finished) = fixture.speculate("go");
    assert!(matches!(&finished.ending, Ending::Boundary { verdict } if verdict.reason == Reason::NeedsHost));
    assert_eq!((changed(&finished).len(), &finished.git, &finished.preview), (0, &None, &None));
    assert_eq!(views.held(), [], "and so does the view");
}

#[test]
fn in_a_turn_its_calls_ask_as_others_do() {
    let answers = [
        calls([task("do it")]),
        calls([edit(), write("new.txt", "n\n"), task("a part of the part")]),
        says("I was not let."),
        says("Pity."),
    ];
    let fixture = fixture(ApprovalMode::Default, answers);
    fixture.host.consents.lock().unwrap().extend([Consent::DeclineBecause("not that".into()), Consent::Run]);
    let (ending, transcript, _) = turn(&fixture, &Limits::default());
    assert_eq!(ending, Ending::Completed);
    let asked: Vec<_> = fixture.host.asked.lock().unwrap().iter().map(|call| call.name.clone()).collect();
    assert_eq!(asked, ["edit", "write_file"]);
    assert!(fixture.host.prepared.lock().unwrap()[0].changes.is_some(), "the question shows the change");
    assert_eq!(results(&transcript.messages), [Ok("I was not let.\n[1 edit; edited new.txt]".to_owned())]);
    let requests = fixture.model.requests.lock().unwrap();
    let said = results(&requests[2].messages);
    assert_eq!(said[0], Err("the user declined this call, and says: not that".to_owned()));
    assert!(said[2].as_ref().unwrap_err().starts_with("there is no tool \"task\""), "{said:?}");
}

#[test]
fn in_plan_mode_a_part_writes_nothing() {
    let answers =
        [calls([task("do it")]), calls([write("a.txt", "a\n"), read("README.md")]), says("."), says("Done.")];
    let fixture = fixture(ApprovalMode::Plan, answers);
    let before = fixture.tree.snapshot();
    let (ending, transcript, _) = turn(&fixture, &Limits::default());
    assert_eq!((ending, fixture.tree.snapshot()), (Ending::Completed, before));
    assert_eq!(results(&transcript.messages), [Ok(".\n[1 read]".to_owned())]);
}

#[test]
fn who_said_nothing_of_tasks_to_the_gate_gets_none() {
    let mut fixture = Fixture::new(ApprovalMode::Yolo, [calls([task("do it")]), says("Done.")]);
    fixture.engine.toolbox = fixture.engine.toolbox.clone().with(task_tool());
    let (ending, transcript, _) = turn(&fixture, &Limits::default());
    assert_eq!(ending, Ending::Completed);
    assert!(results(&transcript.messages)[0].is_err());
    let (_, finished) =
        Fixture { engine: fixture.engine, ..Fixture::new(ApprovalMode::Yolo, []) }.speculate("go");
    assert!(!matches!(finished.ending, Ending::Completed));
}

#[test]
fn limits_of_its_own_stop_it_and_what_it_did_stands() {
    let circle = |limits: TaskLimits| {
        let answers = [calls([task("do it")]), calls([edit()]), calls([read("src/lib.rs")]), says("Done.")];
        let fixture = fixture(ApprovalMode::AutoEdit, answers);
        turn(&fixture, &Limits { task: limits, ..Limits::default() })
    };
    for (limits, word) in [
        (TaskLimits { turns: 2, ..TaskLimits::default() }, "answers"),
        (TaskLimits { tokens: 150, ..TaskLimits::default() }, "tokens"),
    ] {
        let (ending, transcript, _) = circle(limits);
        assert_eq!(ending, Ending::Completed);
        let said = results(&transcript.messages)[0].clone().unwrap();
        assert!(
            said.contains(&format!("it was stopped at its limit of {word}, and is not done; ")),
            "{said}"
        );
        assert!(said.contains("1 edit") && said.contains("edited src/lib.rs"), "{said}");
    }
}

/// Work ahead has less left to spend than a turn has. If that runs out within a sub-task, the whole work stops. The
/// sub-task is then begun anew in the turn, and not reported as one that was stopped.
#[test]
fn what_is_left_to_the_work_stops_all_of_it() {
    for (limits, limit) in [
        (Limits { turns: 3, ..Limits::default() }, Limit::Turns),
        (Limits { tokens: 330, ..Limits::default() }, Limit::Tokens),
    ] {
        let answers = [
            calls([task("do it")]),
            calls([edit()]),
            calls([read("src/lib.rs")]),
            calls([read("README.md")]),
        ];
        let mut fixture = fixture(ApprovalMode::AutoEdit, answers);
        fixture.engine.limits = limits;
        let (_, finished) = fixture.speculate("go");
        assert_eq!(finished.ending, Ending::Exhausted { limit });
        assert_eq!((changed(&finished).len(), finished.task_calls.len(), finished.cost.turns), (0, 0, 3));
        assert_eq!(finished.transcript.pending_call().map(|call| call.name.as_str()), Some("task"));
    }
}

#[test]
fn an_interrupted_turn_says_what_the_part_had_changed() {
    let dropped = Arc::new(AtomicBool::new(false));
    let answers = [calls([task("do it")]), calls([edit()]), Reply::Hangs(Arc::clone(&dropped))];
    let fixture = fixture(ApprovalMode::AutoEdit, answers);
    let mut pool = LocalPool::new();
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("go"),
        Limits::default(),
    );
    let turn = Arc::new(turn);
    let running = Arc::clone(&turn);
    let handle = pool.spawner().spawn_local_with_handle(async move { running.run().await }).unwrap();
    pool.run_until_stalled();
    drop(handle);
    pool.run_until_stalled();
    assert!(dropped.load(Ordering::SeqCst), "the request is given up");
    let transcript = turn.transcript();
    check_pairing(&transcript.messages).unwrap();
    assert_eq!(
        results(&transcript.messages),
        [Err("the sub-task was interrupted; what it changed stands: src/lib.rs".to_owned())]
    );
    assert_eq!(turn.cost().turns, 2);
}

#[test]
fn work_that_is_given_up_or_out_of_time_in_a_part_leaves_nothing_of_it() {
    let begin = || {
        let dropped = Arc::new(AtomicBool::new(false));
        let hangs = Reply::Hangs(Arc::clone(&dropped));
        let mut fixture = fixture(
            ApprovalMode::AutoEdit,
            [calls([write("before.txt", "b\n"), task("do it")]), calls([edit()]), hangs],
        );
        fixture.engine.limits.task.seconds = 86_400;
        let (speculation, mut driver, _events) = fixture.start("go");
        assert!((&mut driver).now_or_never().is_none());
        assert_eq!(speculation.changes().changes.len(), 2, "it is at work");
        (fixture, speculation, driver, dropped)
    };
    let (_bench, speculation, driver, dropped) = begin();
    speculation.abort();
    assert!(dropped.load(Ordering::SeqCst), "the request is given up at once");
    block_on(driver);
    let finished = block_on(speculation.finished());
    assert_eq!((finished.ending.clone(), changed(&finished).len()), (Ending::Aborted, 0));

    let (fixture, speculation, driver, dropped) = begin();
    fixture.host.time_is_up.store(true, Ordering::SeqCst);
    block_on(driver);
    let finished = block_on(speculation.finished());
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Time });
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!((changed(&finished), finished.cost.turns), (vec!["before.txt".to_owned()], 2));
}

#[test]
fn a_part_whose_model_fails_is_taken_back_ahead_and_stands_in_a_turn() {
    let answers = || {
        let fails = Reply::Fails(ModelError::Cut { provider: "the model".into(), source: None });
        [calls([task("do it")]), calls([edit()]), fails, says("Done.")]
    };
    let in_turn = fixture(ApprovalMode::AutoEdit, answers());
    let (_, transcript, _) = turn(&in_turn, &Limits::default());
    let said = results(&transcript.messages)[0].clone().unwrap_err();
    assert!(said.starts_with("the sub-task failed: ") && said.ends_with("stands: src/lib.rs"), "{said}");
    assert!(in_turn.tree.snapshot()["src/lib.rs"].windows(1).any(|byte| byte == b"2"));

    let ahead = fixture(ApprovalMode::AutoEdit, answers());
    let (_, finished) = ahead.speculate("go");
    let said = results(&finished.transcript.messages)[0].clone().unwrap_err();
    assert!(said.ends_with("what it changed is taken back"), "{said}");
    assert_eq!((finished.ending.clone(), changed(&finished).len()), (Ending::Completed, 0));
}

/// The rules in force at the accept count for calls of a sub-task as for all others.
#[test]
fn an_accept_judges_the_calls_of_a_part() {
    let answers = [calls([task("do it")]), calls([shell("ls")]), says("."), says("Done.")];
    let fixture = fixture(ApprovalMode::AutoEdit, answers);
    let (speculation, finished) = fixture.speculate("go");
    assert_eq!(finished.ending, Ending::Completed);
    let table = ToolTable { tools: vec![("shell".to_owned(), ToolPolicy::Exclude)], ..ToolTable::default() };
    let policies = ToolPolicies::new(table, ToolTable::default(), &["task"]).unwrap();
    assert!(policies.of(PolicyOrigin::User).tools.len() == 1);
    fixture.host.rules.lock().unwrap().tool_policies = policies;
    match block_on(speculation.accept()).unwrap() {
        Acceptance::Withdrawn { call, .. } => assert_eq!(call.args["command"], "ls"),
        other => panic!("not withdrawn: {other:?}"),
    }
}

#[test]
fn a_policy_asks_about_tasks_as_about_any_tool() {
    let answers = || [calls([task("do it")]), says("It is."), says("Done.")];
    let table = ToolTable { tools: vec![("task".to_owned(), ToolPolicy::Ask)], ..ToolTable::default() };
    let policies = ToolPolicies::new(table, ToolTable::default(), &["task"]).unwrap();
    let in_turn = fixture(ApprovalMode::Yolo, answers());
    in_turn.host.rules.lock().unwrap().tool_policies = policies.clone();
    in_turn.host.consents.lock().unwrap().push_back(Consent::Run);
    assert_eq!(turn(&in_turn, &Limits::default()).0, Ending::Completed);
    assert_eq!(in_turn.host.asked.lock().unwrap().len(), 1);
    let ahead = fixture(ApprovalMode::Yolo, answers());
    ahead.host.rules.lock().unwrap().tool_policies = policies;
    assert!(matches!(ahead.speculate("go").1.ending, Ending::Boundary { .. }));
}

#[test]
fn the_answer_is_cut_and_an_empty_prompt_is_refused() {
    let long = (0..5_000).map(|number| format!("é{number:06}")).collect::<Vec<_>>().concat();
    let answers = [
        calls([task("  "), call("task", &json!({ "title": "x" })), task("do it")]),
        says(&long),
        says("Done."),
    ];
    let fixture = fixture(ApprovalMode::AutoEdit, answers);
    let (_, transcript, _) = turn(&fixture, &Limits::default());
    let results = results(&transcript.messages);
    assert_eq!(results[0], Err("task: the prompt is empty; say what is to be done".to_owned()));
    assert!(results[1].as_ref().unwrap_err().contains("prompt"), "{results:?}");
    let said = results[2].as_ref().unwrap();
    assert!(
        said.len() < 17 * 1024
            && said.ends_with("\n[23616 more bytes of its answer are left out]\n[no calls]")
    );
}

#[test]
fn whoever_watches_hears_how_far_it_is() {
    let answers =
        [calls([task("do it")]), calls([read("README.md")]), calls([edit()]), says("."), says("Done.")];
    let fixture = fixture(ApprovalMode::AutoEdit, answers);
    fixture.host.reports_call_states.store(true, Ordering::SeqCst);
    let (_speculation, driver, events) = fixture.start("go");
    block_on(driver);
    let events: Vec<_> = block_on(events.collect());
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::CallOutput { id, end } => Some((id.as_str(), end.as_str())),
            _ => None,
        })
        .collect();
    let id = "call";
    assert_eq!(
        told,
        [
            (id, "reading README.md"),
            (id, "1 read"),
            (id, "1 read\nediting src/lib.rs"),
            (id, "1 read, 1 edit"),
        ]
    );
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ToolCall { call } => task_title(call),
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["a part"], "its own calls are no calls of the conversation");
}

/// While a question of a sub-task is open, the clocks of both conversations stand still.
#[test]
fn the_time_of_a_question_counts_in_neither_conversation() {
    let limits = Limits {
        time: Duration::from_secs(1),
        task: TaskLimits { seconds: 1, ..TaskLimits::default() },
        ..Limits::default()
    };
    let answers = [calls([task("do it")]), calls([edit()]), says("It is."), says("Done.")];
    let fixture = fixture(ApprovalMode::Default, answers);
    fixture.host.consents.lock().unwrap().push_back(Consent::Run);
    fixture.host.asking_takes_ms.store(5_000, Ordering::SeqCst);
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), fixture.request(), Transcript::new("go"), limits);
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert!(turn.cost().work_ms < 1_000, "{:?}", turn.cost());
}
