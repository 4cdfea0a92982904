//! Runs random scripts of tool calls. A run must give the same whether its calls run one after the other or at the same
//! time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::task::Poll;

use crate::support::{Fixture, Reply, call, calls, says};
use async_trait::async_trait;
use futures::executor::block_on;
use futures::{FutureExt, StreamExt};
use headstart_overlay_fs::MemoryTree;
use headstart_speculation::{Cost, Ending, Event, Finished, Limit};
use headstart_tool_gate::{ApprovalMode, no_repository};
use headstart_toolbox::{CommandOutput, CommandRequest, CommandRunner, ToolError, Toolbox};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) const FILES: [(&str, &str); 4] =
    [("a.txt", "one\ntwo\n"), ("b.txt", ""), ("dir/c.txt", "one\n"), (".gitignore", "ignored\n")];

fn a_call() -> impl Strategy<Value = (&'static str, Value)> {
    let name = || {
        prop::sample::select(vec![
            "a.txt",
            "b.txt",
            "dir/c.txt",
            "dir/new.txt",
            "ignored",
            "dir",
            "x/y/z",
            "../out",
        ])
    };
    let words = || prop::sample::select(vec!["one", "two", "one\n", "", "three\n"]);
    prop_oneof![
        (name(), words())
            .prop_map(|(name, text)| ("write_file", json!({ "file_path": name, "content": text }))),
        (name(), words(), words(), any::<bool>()).prop_map(|(name, old, new, all)| (
            "edit",
            json!({ "file_path": name, "old_string": old, "new_string": new, "replace_all": all })
        )),
        name().prop_map(|name| ("read_file", json!({ "file_path": name }))),
        name().prop_map(|name| ("ls", json!({ "path": name }))),
        words().prop_map(|pattern| ("grep", json!({ "pattern": pattern }))),
        Just(("glob", json!({ "pattern": "**/*" }))),
        Just(("nonsense", json!({}))),
        Just(("read_file", json!({ "file_path": 1 }))),
    ]
}

/// The calls of each answer, answer by answer.
pub(crate) type Script = Vec<Vec<(&'static str, Value)>>;

/// Whether no path leads out of the workspace. Such a path is a boundary for a speculation and a question in the
/// foreground, so the two cannot be compared.
fn stays_inside(script: &[Vec<(&'static str, Value)>]) -> bool {
    !script.iter().flatten().any(|(_, args)| args.to_string().contains("../"))
}

pub(crate) fn answers(script: &[Vec<(&'static str, Value)>]) -> Vec<Reply> {
    let mut answers: Vec<Reply> =
        script.iter().map(|turn| calls(turn.iter().map(|(name, args)| call(name, args)))).collect();
    answers.push(says("Done."));
    answers
}

pub(crate) fn script() -> impl Strategy<Value = Script> {
    prop::collection::vec(prop::collection::vec(a_call(), 1..4), 0..5)
        .prop_filter("a path outside is judged differently", |script| stays_inside(script))
        .prop_filter("a call that goes in a circle ends the run", goes_in_no_circle)
}

/// Whether no call is repeated more often than a run allows.
fn goes_in_no_circle(script: &Script) -> bool {
    let calls = || script.iter().flatten();
    calls().all(|call| calls().filter(|other| *other == call).count() <= 3)
}

/// A shell whose commands need a number of polls that depends on the length of their text, so that they end in another
/// order than they began.
struct SlowRunner;

#[async_trait]
impl CommandRunner for SlowRunner {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        let command = request.command.prove_by(no_repository).unwrap().line;
        let turns = command.len() % 7;
        for _ in 0..turns {
            let mut again = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut again, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        let output = format!("{command} after {turns}\n");
        Ok(CommandOutput { output, exit_code: Some(0), timed_out: false, truncated: false })
    }
}

fn a_command() -> impl Strategy<Value = (&'static str, Value)> {
    let commands = vec![
        "ls",
        "cat a.txt",
        "cat b.txt",
        "grep one dir/c.txt",
        "git status",
        "wc -l dir/c.txt",
        "rm a.txt",
    ];
    prop::sample::select(commands).prop_map(|command| ("shell", json!({ "command": command })))
}

fn script_with_commands() -> impl Strategy<Value = Script> {
    let calls = prop_oneof![a_call(), a_command()];
    prop::collection::vec(prop::collection::vec(calls, 1..7), 1..5)
}

/// Runs a script. Returns everything that can be seen of the run: its ending, its messages and changes, and its events.
fn run_of(script: &[Vec<(&'static str, Value)>], calls_at_once: usize) -> (Finished, Vec<Event>) {
    let tree = Arc::new(MemoryTree::from_files(FILES).unwrap());
    let mut fixture = Fixture::over(tree.clone(), tree, ApprovalMode::AutoEdit, answers(script));
    fixture.engine.toolbox = Toolbox::standard(Some(Arc::new(SlowRunner)));
    fixture.engine.limits.calls_at_once = calls_at_once;
    let (speculation, driver, events) = fixture.start("go");
    let mut finished = block_on(async {
        driver.await;
        Finished::clone(&*speculation.finished().await)
    });
    // A folder that was first listed has the same fingerprint as any folder, and one that was first looked up has its
    // own. Only the names of its entries are compared here.
    for read in finished.changes.reads.iter_mut().filter(|read| read.names.is_some()) {
        read.seen = None;
    }
    finished.cost = Cost { tool_calls: finished.cost.tool_calls, ..Cost::default() };
    (finished, events.collect::<Vec<_>>().now_or_never().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_same_one_after_the_other_and_at_the_same_time(script in script_with_commands()) {
        let (one, other) = (run_of(&script, 1), run_of(&script, 8));
        prop_assert_eq!(one, other);
    }
}

/// Repeated calls are counted over the calls of one answer as they are over several answers. A call that may change the
/// result resets the count there, too.
#[test]
fn a_call_that_is_repeated_is_counted_in_one_answer_as_over_several() {
    let cat = |file: &str| ("shell", json!({ "command": format!("cat {file}") }));
    let (one, other) = (cat("a.txt"), cat("b.txt"));
    let alone = || vec![other.clone()];
    let is_over = |ending: &Ending| matches!(ending, Ending::Exhausted { limit: Limit::Repeated });
    for (script, over) in [
        (vec![alone(), alone(), vec![other.clone(), other.clone()]], true),
        (vec![vec![other.clone(); 4]], true),
        (vec![vec![other.clone(); 3]], false),
        (vec![alone(), alone(), alone(), vec![one.clone(), other.clone()]], false),
    ] {
        let (in_turn, at_once) = (run_of(&script, 1), run_of(&script, 8));
        assert_eq!(in_turn, at_once, "{script:?}");
        assert_eq!(is_over(&at_once.0.ending), over, "{script:?}: {:?}", at_once.0.ending);
    }
}

#[test]
fn the_events_tell_the_calls_in_order() {
    let fixture = Fixture::new(
        ApprovalMode::AutoEdit,
        [calls([call("ls", &json!({})), call("nonsense", &json!({}))]), says("Done.")],
    );
    let (_speculation, driver, events) = fixture.start("go");
    let events: Vec<String> = block_on(async {
        driver.await;
        events
            .map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned())
            .collect()
            .await
    });
    assert_eq!(events, ["toolCall", "toolResult", "toolCall", "toolResult", "text"]);
}
