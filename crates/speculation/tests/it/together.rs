//! Calls of one answer that run at the same time: which result is where if they end in any order, or not at all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use futures::StreamExt;
use futures::channel::oneshot;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use headstart_forked_query::{Message, ModelEvent, Part, ToolOutcome, ToolSchema, check_pairing};
use headstart_speculation::{
    Acceptance, Consent, Ending, Event, Limit, Limits, Speculation, Status, Transcript, Turn,
};
use headstart_tool_gate::{ApprovalMode, Declaration, DenyRules, no_repository};
use headstart_toolbox::{
    CommandOutput, CommandRequest, CommandRunner, Tool, ToolContext, ToolError, ToolOutput, Toolbox,
};
use serde_json::{Map, Value, json};

use crate::support::{Fixture, call, calls, path, says, spawn};

/// A shell whose commands end when the test says so.
#[derive(Default)]
struct GatedRunner {
    waiting: Mutex<HashMap<String, oneshot::Sender<()>>>,
    begun: Mutex<Vec<String>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

struct RunningGuard<'a>(&'a GatedRunner);

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl CommandRunner for GatedRunner {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        let running = 1 + self.running.fetch_add(1, Ordering::SeqCst);
        let _inside = RunningGuard(self);
        self.most.fetch_max(running, Ordering::SeqCst);
        let (open, opened) = oneshot::channel();
        let command = request.command.prove_by(no_repository).unwrap().line;
        self.begun.lock().unwrap().push(command.to_owned());
        self.waiting.lock().unwrap().insert(command.to_owned(), open);
        opened.await.unwrap();
        let output = format!("{command} is done\n");
        Ok(CommandOutput { output, exit_code: Some(0), timed_out: false, truncated: false })
    }
}

impl GatedRunner {
    fn open(&self, command: &str) {
        let door = self.waiting.lock().unwrap().remove(command);
        door.unwrap_or_else(|| panic!("{command} does not run")).send(()).unwrap();
    }

    fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }
}

fn shell(command: &str) -> ModelEvent {
    call("shell", &json!({ "command": command }))
}

fn write(name: &str) -> ModelEvent {
    call("write_file", &json!({ "file_path": name, "content": "new\n" }))
}

/// An engine with this shell, one answer with these calls, and a pool on which it runs step by step.
struct GatedFixture {
    fixture: Fixture,
    runner: Arc<GatedRunner>,
    pool: LocalPool,
}

impl GatedFixture {
    fn new(answer: impl IntoIterator<Item = ModelEvent>) -> Self {
        let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [calls(answer), says("Done.")]);
        let runner = Arc::new(GatedRunner::default());
        fixture.engine.toolbox = Toolbox::standard(Some(Arc::clone(&runner) as Arc<dyn CommandRunner>));
        Self { fixture, runner, pool: LocalPool::new() }
    }

    fn speculate(&mut self) -> (Speculation, headstart_speculation::Events) {
        let (speculation, driver, events) = self.fixture.start("go");
        spawn(&self.pool, driver);
        self.pool.run_until_stalled();
        (speculation, events)
    }

    fn turn(&mut self, transcript: Transcript) -> (Arc<Turn>, futures::future::RemoteHandle<Ending>) {
        let fixture = &self.fixture;
        let (turn, _events) =
            fixture.engine.turn(fixture.model.clone(), fixture.request(), transcript, Limits::default());
        let turn = Arc::new(turn);
        let running = Arc::clone(&turn);
        let handle = self.pool.spawner().spawn_local_with_handle(async move { running.run().await }).unwrap();
        self.pool.run_until_stalled();
        (turn, handle)
    }

    fn open(&mut self, command: &str) {
        self.runner.open(command);
        self.pool.run_until_stalled();
    }
}

/// The results of commands in the messages, in their order.
fn results(messages: &[Message]) -> Vec<String> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some(match &result.outcome {
                ToolOutcome::Output(text) => text.as_str().unwrap().trim().to_owned(),
                ToolOutcome::Error(message) => message.clone(),
            }),
            _ => None,
        })
        .collect()
}

#[test]
fn results_come_in_the_order_of_the_calls() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2"), shell("echo 3")]);
    let (speculation, events) = gated.speculate();
    assert_eq!(gated.runner.begun(), ["echo 1", "echo 2", "echo 3"]);
    for (command, done) in [("echo 3", 0), ("echo 1", 1), ("echo 2", 3)] {
        gated.open(command);
        let transcript = speculation.transcript();
        check_pairing(&transcript.messages).unwrap();
        assert_eq!(results(&transcript.messages).len(), done, "after {command}");
    }
    assert_eq!(speculation.status(), Status::Completed);
    let transcript = speculation.transcript();
    assert_eq!(results(&transcript.messages), ["echo 1 is done", "echo 2 is done", "echo 3 is done"]);
    assert_eq!(speculation.cost().tool_calls, 3);
    let events: Vec<Event> = events.collect::<Vec<_>>().now_or_never().unwrap();
    let told: Vec<String> = events
        .iter()
        .map(|event| match event {
            Event::ToolCall { call } => call.args["command"].as_str().unwrap().to_owned(),
            Event::ToolResult { result, .. } => result.name.clone(),
            _ => "text".to_owned(),
        })
        .collect();
    assert_eq!(told, ["echo 1", "shell", "echo 2", "shell", "echo 3", "shell", "text"]);
}

#[test]
fn a_call_is_told_while_it_runs() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2")]);
    let (_speculation, mut events) = gated.speculate();
    let mut told = || events.next().now_or_never().flatten();
    assert!(matches!(told(), Some(Event::ToolCall { call }) if call.args["command"] == "echo 1"));
    assert_eq!(told(), None);
    gated.open("echo 1");
    assert!(matches!(told(), Some(Event::ToolResult { .. })));
    assert!(matches!(told(), Some(Event::ToolCall { call }) if call.args["command"] == "echo 2"));
    assert_eq!(told(), None);
}

#[test]
fn a_write_waits_for_the_reads_before_it_and_those_behind_wait_for_it() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2"), write("new.txt"), shell("echo 3")]);
    let (speculation, _events) = gated.speculate();
    gated.open("echo 2");
    assert!(speculation.changes().is_empty(), "a read before the write still runs");
    assert_eq!(gated.runner.begun(), ["echo 1", "echo 2"]);
    gated.open("echo 1");
    assert_eq!(speculation.changes().changes.len(), 1);
    assert_eq!(gated.runner.begun(), ["echo 1", "echo 2", "echo 3"]);
    gated.open("echo 3");
    assert_eq!(speculation.status(), Status::Completed);
}

#[test]
fn a_call_behind_a_boundary_does_not_run() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("touch x"), shell("echo 2")]);
    let (speculation, _events) = gated.speculate();
    assert_eq!(gated.runner.begun(), ["echo 1"]);
    assert_eq!(speculation.status(), Status::Running, "what was begun before it is finished");
    gated.open("echo 1");
    assert_eq!(speculation.status(), Status::Boundary);
    assert_eq!(gated.runner.begun(), ["echo 1"]);
    let transcript = speculation.transcript();
    assert_eq!(results(&transcript.messages), ["echo 1 is done"]);
    assert_eq!(transcript.pending_call().unwrap().args["command"], "touch x");
}

#[test]
fn a_link_that_a_later_call_goes_through_stops_before_those_behind_it() {
    // Only the engine can see that the second command is a boundary, because the gate sees names and no links.
    let mut gated = GatedFixture::new([shell("echo 1"), shell("cat link"), shell("echo 2")]);
    gated.fixture.tree.link(&path("link"), "README.md");
    let (speculation, _events) = gated.speculate();
    gated.open("echo 1");
    assert_eq!(speculation.status(), Status::Boundary);
    assert_eq!(gated.runner.begun(), ["echo 1"]);
}

#[test]
fn work_that_is_cut_keeps_every_result_and_runs_the_others_only() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2"), shell("echo 3"), write("new.txt")]);
    let (speculation, _events) = gated.speculate();
    gated.open("echo 2");
    gated.fixture.host.time_is_up.store(true, Ordering::SeqCst);
    gated.open("echo 3");
    assert_eq!(speculation.status(), Status::Exhausted);
    assert_eq!(gated.runner.running.load(Ordering::SeqCst), 0, "what still ran is dropped");
    let accepted = match speculation.accept().now_or_never().unwrap().unwrap() {
        Acceptance::Accepted(accepted) => accepted,
        other => panic!("{other:?}"),
    };
    assert_eq!(accepted.ending, Ending::Exhausted { limit: Limit::Time });
    assert_eq!(results(&accepted.transcript.messages), Vec::<String>::new());
    assert_eq!(accepted.transcript.ready.len(), 2);
    check_pairing(&accepted.transcript.messages).unwrap();

    // The transcript may be continued in another process, so it is written and read again.
    let kept = serde_json::to_string(&accepted.transcript).unwrap();
    gated.fixture.host.time_is_up.store(false, Ordering::SeqCst);
    let (turn, handle) = gated.turn(serde_json::from_str(&kept).unwrap());
    assert_eq!(gated.runner.begun(), ["echo 1", "echo 2", "echo 3", "echo 1"]);
    gated.open("echo 1");
    assert_eq!(handle.now_or_never(), Some(Ending::Completed));
    let results = results(&turn.transcript().messages);
    assert_eq!(results[..3], ["echo 1 is done", "echo 2 is done", "echo 3 is done"]);
    assert_eq!(results.len(), 4);
    check_pairing(&turn.transcript().messages).unwrap();
}

#[test]
fn a_result_that_waits_is_judged_again_at_the_accept() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("cat README.md")]);
    let (speculation, _events) = gated.speculate();
    gated.fixture.host.time_is_up.store(true, Ordering::SeqCst);
    gated.open("cat README.md");
    assert_eq!(speculation.status(), Status::Exhausted);
    gated.fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["README.md"]).unwrap();
    let acceptance = speculation.accept().now_or_never().unwrap().unwrap();
    assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{acceptance:?}");
}

#[test]
fn an_abort_drops_all_that_runs() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2"), shell("echo 3")]);
    let (speculation, _events) = gated.speculate();
    gated.open("echo 2");
    assert_eq!(gated.runner.running.load(Ordering::SeqCst), 2);
    speculation.abort();
    assert_eq!(gated.runner.running.load(Ordering::SeqCst), 0);
    assert_eq!(speculation.status(), Status::Aborted);
}

/// A tool that reports that the overlay is full.
struct FullOverlayTool;

#[async_trait]
impl Tool for FullOverlayTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema { name: "ls".into(), description: "Full.".into(), parameters: json!({}) }
    }

    async fn run(&self, _: &Map<String, Value>, _: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Quota { message: "full".into() })
    }
}

#[test]
fn a_limit_ends_the_work_when_the_calls_before_it_are_done() {
    let mut gated = GatedFixture::new([shell("echo 1"), call("ls", &json!({})), shell("echo 2"), write("x")]);
    gated.fixture.engine.toolbox = gated.fixture.engine.toolbox.clone().with(Arc::new(FullOverlayTool));
    let (speculation, _events) = gated.speculate();
    gated.open("echo 2");
    assert_eq!(speculation.status(), Status::Running);
    gated.open("echo 1");
    assert_eq!(speculation.status(), Status::Exhausted);
    let finished = speculation.finished().now_or_never().unwrap();
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Staged });
    assert_eq!(results(&finished.transcript.messages), ["echo 1 is done"]);
    assert_eq!(finished.transcript.ready.len(), 1);
    assert!(finished.changes.is_empty(), "the write behind it did not run");
}

#[test]
fn no_more_run_at_once_than_the_limit_says() {
    let commands: Vec<String> = (0..20).map(|number| format!("echo {number}")).collect();
    let mut gated = GatedFixture::new(commands.iter().map(|command| shell(command)));
    gated.fixture.engine.limits.calls_at_once = 3;
    let (speculation, _events) = gated.speculate();
    while let Some(command) = {
        let waiting = gated.runner.waiting.lock().unwrap();
        waiting.keys().next().cloned()
    } {
        gated.open(&command);
    }
    assert_eq!(speculation.status(), Status::Completed);
    assert_eq!(gated.runner.begun(), commands);
    assert_eq!(gated.runner.most.load(Ordering::SeqCst), 3);
}

#[test]
fn time_in_tools_is_counted_once() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2"), shell("echo 3")]);
    let (speculation, _events) = gated.speculate();
    gated.fixture.host.clock_ms.fetch_add(1_000, Ordering::SeqCst);
    for command in ["echo 2", "echo 1", "echo 3"] {
        gated.open(command);
    }
    let cost = speculation.cost();
    // Every reading of this clock takes a millisecond.
    assert!((1_000..1_010).contains(&cost.tool_ms), "{cost:?}");
    assert!(cost.tool_ms <= cost.work_ms);
}

#[test]
fn a_foreground_turn_asks_one_question_after_the_other() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("rm a"), shell("echo 2"), shell("rm b")]);
    gated.fixture.host.consents.lock().unwrap().extend([Consent::Decline, Consent::Run]);
    let asked = |gated: &GatedFixture| -> Vec<String> {
        let asked = gated.fixture.host.asked.lock().unwrap();
        asked.iter().map(|call| call.args["command"].as_str().unwrap().to_owned()).collect()
    };
    let (turn, handle) = gated.turn(Transcript::new("go"));
    assert_eq!(asked(&gated), Vec::<String>::new(), "not while a call before it runs");
    gated.open("echo 1");
    assert_eq!(asked(&gated), ["rm a"]);
    gated.open("echo 2");
    assert_eq!(asked(&gated), ["rm a", "rm b"]);
    gated.open("rm b");
    assert_eq!(handle.now_or_never(), Some(Ending::Completed));
    let expected = ["echo 1 is done", "the user declined this call", "echo 2 is done", "rm b is done"];
    assert_eq!(results(&turn.transcript().messages), expected);
}

/// A tool that ends something beside the turns, and notes when it runs.
struct StopTool(Arc<GatedRunner>);

#[async_trait]
impl Tool for StopTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of("stop", "", &json!({}), &[])
    }

    async fn run(&self, _: &Map<String, Value>, _: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        self.0.begun.lock().unwrap().push("stop".to_owned());
        Ok("stopped".to_owned().into())
    }
}

#[test]
fn a_call_that_ends_something_beside_the_turn_waits_for_the_reads_before_it() {
    let mut gated = GatedFixture::new([shell("echo 1"), call("stop", &json!({})), shell("echo 2")]);
    let tool = Arc::new(StopTool(Arc::clone(&gated.runner)));
    gated.fixture.engine.toolbox = gated.fixture.engine.toolbox.clone().with(tool);
    gated.fixture.host.rules.lock().unwrap().tools.push(Declaration::serves_session("stop"));
    let (_turn, handle) = gated.turn(Transcript::new("go"));
    assert_eq!(gated.runner.begun(), ["echo 1"]);
    gated.open("echo 1");
    assert_eq!(gated.runner.begun(), ["echo 1", "stop", "echo 2"]);
    gated.open("echo 2");
    assert_eq!(handle.now_or_never(), Some(Ending::Completed));
}

#[test]
fn an_interrupted_turn_leaves_a_legal_history() {
    let mut gated = GatedFixture::new([shell("echo 1"), shell("echo 2")]);
    let (turn, handle) = gated.turn(Transcript::new("go"));
    gated.open("echo 2");
    drop(handle);
    gated.pool.run_until_stalled();
    assert_eq!(gated.runner.running.load(Ordering::SeqCst), 0);
    let transcript = turn.transcript();
    check_pairing(&transcript.messages).unwrap();
    assert_eq!(transcript.ready.len(), 1);
}
