//! How a run ends: the end of its events, its time limit, and what that limit must not interrupt.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::{LocalPool, block_on};
use futures::future::{join, poll_fn};
use futures::task::LocalSpawnExt;
use futures::{StreamExt, stream};
use headstart_forked_query::{
    BackgroundModel, EventStream, Model, ModelError, ModelEvent, ModelRequest, ToolCall, Usage,
};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, DirEntry, MemoryTree, Metadata, Tree, TreeError, Workspace,
    WorkspacePath, Writer, commit_through,
};
use headstart_speculation::{Consent, Ending, Event, Host, Limit, Limits, Status, Transcript, Turn};
use headstart_tool_gate::{ApprovalMode, GateContext, Verdict};
use serde_json::json;

use crate::support::{Fixture, Reply, call, calls, rules, says, spawn, write};

const LIMIT: Duration = Duration::from_millis(100);

/// A clock that advances only if a test lets time pass.
#[derive(Default)]
struct ManualClock(AtomicU64);

impl ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    /// Advances the clock at once, and then lets other tasks notice it.
    async fn pass(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
        turns(1).await;
    }
}

/// Lets other tasks run so many times.
async fn turns(mut left: u32) {
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A user who thinks for a while before every answer.
struct SlowUser {
    time: Arc<ManualClock>,
    thinks: Duration,
}

#[async_trait]
impl Host for SlowUser {
    fn now(&self) -> Duration {
        self.time.now()
    }

    async fn sleep(&self, time: Duration) {
        let end = self.time.now() + time;
        // A task that lets time pass is woken, and this future is polled together with it.
        poll_fn(|_| if end <= self.time.now() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn gate_context(&self) -> GateContext {
        rules(ApprovalMode::AutoEdit)
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        self.time.pass(self.thinks).await;
        Consent::Run
    }
}

/// A workspace in which each step takes most of the time limit.
struct SlowWorkspace {
    tree: Arc<MemoryTree>,
    time: Arc<ManualClock>,
}

#[async_trait]
impl Tree for SlowWorkspace {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.tree.metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.tree.list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read_link(path).await
    }
}

#[async_trait]
impl Writer for SlowWorkspace {
    async fn write(&self, path: &WorkspacePath, content: &[u8], _bit: bool) -> Result<(), TreeError> {
        self.tree.write(path, content);
        self.time.pass(LIMIT * 2 / 3).await;
        Ok(())
    }

    async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError> {
        self.tree.link(path, target);
        Ok(())
    }

    async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        self.tree.make_dir(path);
        self.time.pass(LIMIT * 2 / 3).await;
        Ok(())
    }

    async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        self.tree.remove(path);
        Ok(())
    }
}

#[async_trait]
impl Workspace for SlowWorkspace {
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        commit_through(self, changes, options).await
    }
}

fn turn_of(fixture: &Fixture) -> (Turn, headstart_speculation::Events) {
    let limits = Limits { time: LIMIT, ..Limits::default() };
    fixture.engine.turn(fixture.model.clone(), fixture.request(), Transcript::new("do it"), limits)
}

fn thoughtful(thinks: Duration, answers: impl IntoIterator<Item = Reply>) -> (Fixture, Arc<ManualClock>) {
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    let time = Arc::<ManualClock>::default();
    fixture.engine.host = Arc::new(SlowUser { time: Arc::clone(&time), thinks });
    (fixture, time)
}

fn slow(answers: impl IntoIterator<Item = Reply>) -> (Fixture, Arc<ManualClock>) {
    let (mut fixture, time) = thoughtful(Duration::ZERO, answers);
    fixture.engine.workspace =
        Arc::new(SlowWorkspace { tree: Arc::clone(&fixture.tree), time: Arc::clone(&time) });
    (fixture, time)
}

#[test]
fn the_events_of_a_turn_end_with_it() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, [says("Done.")]);
    let (turn, events) = turn_of(&fixture);
    let told = Mutex::new(None);
    let mut pool = LocalPool::new();
    pool.run_until(async {
        let drained = async { *told.lock().unwrap() = Some(events.collect::<Vec<_>>().await) };
        let mut both = Box::pin(join(turn.run(), drained));
        // If the stream of events had no end, this would wait for ever.
        poll_fn(|context| {
            let _ = futures::FutureExt::poll_unpin(&mut both, context);
            Poll::Ready(())
        })
        .await;
    });
    let told = told.lock().unwrap().take();
    assert_eq!(told, Some(vec![Event::Text { text: "Done.".into() }]), "the stream has no end");
}

#[test]
fn the_clock_stands_still_while_the_user_is_asked() {
    let touch = || call("shell", &json!({ "command": "touch x" }));
    let (fixture, time) = thoughtful(LIMIT * 3, [calls([touch()]), calls([touch()]), says("Done.")]);
    let (turn, _events) = turn_of(&fixture);
    assert_eq!(block_on(turn.run()), Ending::Completed);
    assert_eq!(time.now(), LIMIT * 6);
    assert_eq!(turn.cost().work_ms, 0, "what the user thinks about is no work");
}

#[test]
fn a_commit_is_done_before_the_limit_counts() {
    let (fixture, _) = slow([calls([write("a/b/c.txt", "c"), write("late.txt", "x")]), says("Done.")]);
    let (turn, _events) = turn_of(&fixture);
    assert_eq!(block_on(turn.run()), Ending::Exhausted { limit: Limit::Time });
    assert_eq!(fixture.tree.snapshot()["a/b/c.txt"], b"c", "the commit is whole");
    let transcript = turn.transcript();
    let pending = transcript.pending_call().unwrap();
    assert_eq!(pending.args["file_path"], "late.txt", "and its call is not to run again");
    assert!(!fixture.tree.snapshot().contains_key("late.txt"), "nothing begins after the end");
}

/// A model whose words are always available at once and never end.
struct EndlessModel(Arc<AtomicBool>);

#[async_trait]
impl Model for EndlessModel {
    async fn stream(&self, _request: &ModelRequest) -> Result<EventStream, ModelError> {
        let stop = Arc::clone(&self.0);
        let words = stream::repeat_with(|| Ok(ModelEvent::Text("x".into()))).take(100_000);
        // Ends the test, which would not end otherwise.
        let end = stream::once(async move {
            stop.store(true, Ordering::SeqCst);
            Err(ModelError::Cut { provider: "test".into(), source: None })
        });
        Ok(words.chain(end).boxed())
    }
}

fn babbling() -> (Fixture, Arc<AtomicBool>) {
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, []);
    let ended = Arc::<AtomicBool>::default();
    fixture.engine.background = BackgroundModel::main(Arc::new(EndlessModel(Arc::clone(&ended))), "test");
    (fixture, ended)
}

#[test]
fn a_model_that_is_always_ready_is_cut_by_the_clock() {
    let (fixture, ended) = babbling();
    fixture.host.time_is_up.store(true, Ordering::SeqCst);
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Time });
    assert!(!ended.load(Ordering::SeqCst));
}

#[test]
fn a_model_that_is_always_ready_does_not_hold_up_an_abort() {
    let (fixture, ended) = babbling();
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    let aborted = speculation.clone();
    pool.spawner().spawn_local(async move { aborted.abort() }).unwrap();
    pool.run();
    assert_eq!(speculation.status(), Status::Aborted);
    assert!(!ended.load(Ordering::SeqCst));
}

#[test]
fn more_tokens_than_can_be_counted_are_above_every_limit() {
    let usage = Usage { input_tokens: u64::MAX, output_tokens: 5, ..Usage::default() };
    let ls = || match calls([call("ls", &json!({}))]) {
        Reply::Events(mut events) => {
            events.push(ModelEvent::Usage(usage));
            Reply::Events(events)
        }
        other => other,
    };
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [ls(), ls(), says("Done.")]);
    fixture.engine.limits.tokens = u64::MAX;
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Tokens });

    let mut total = usage;
    total += Usage { cached_input_tokens: u64::MAX, ..usage };
    total +=
        Usage { cache_creation_tokens: u64::MAX, output_tokens: u64::MAX, cached_input_tokens: 1, ..usage };
    assert_eq!((total.input_tokens, total.cached_input_tokens), (u64::MAX, u64::MAX));
    assert_eq!((total.cache_creation_tokens, total.output_tokens), (u64::MAX, u64::MAX));
}
