//! The host's own tools that it declared to the gate run ahead, but only as far as the declaration permits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use headstart_forked_query::{Part, ToolOutcome, ToolSchema};
use headstart_overlay_fs::Tree as _;
use headstart_speculation::{Acceptance, Ending, Finished};
use headstart_tool_gate::{ApprovalMode, Declaration, Reason};
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use crate::shadow::{ViewFixture, commits, with_views};
use crate::support::{Fixture, accepted, call, calls, path, says, shell};

/// A tool that does what its call says, whatever was declared for it.
struct UndeclaredWriteTool(&'static str);

#[async_trait]
impl Tool for UndeclaredWriteTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(self.0, "", &json!({ "writes": { "type": "string" } }), &[])
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(name) = args.get("writes").and_then(Value::as_str) {
            context.view.write(&path(name), b"own\n".to_vec()).await?;
        }
        let read = context.view.read(&path("README.md")).await?;
        Ok(String::from_utf8_lossy(&read).into_owned().into())
    }
}

fn fixture(mode: ApprovalMode, args: &Value, declared: Option<Declaration>) -> Fixture {
    let mut fixture = Fixture::new(mode, [calls([call("own", args)]), says("Done.")]);
    fixture.engine.toolbox = fixture.engine.toolbox.clone().with(Arc::new(UndeclaredWriteTool("own")));
    fixture.host.rules.lock().unwrap().tools.extend(declared);
    fixture
}

fn answers(finished: &Finished) -> Vec<ToolOutcome> {
    let parts = finished.transcript.messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.outcome.clone()),
        _ => None,
    });
    results.collect()
}

#[test]
fn one_that_is_not_declared_never_runs_ahead() {
    let (_, finished) = fixture(ApprovalMode::Yolo, &json!({}), None).speculate("do it");
    let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
    assert_eq!(verdict.reason, Reason::UnknownTool);
}

/// The conversation may come from a host that has started servers of tools, which are not here.
#[test]
fn one_of_a_server_that_does_not_run_stops_the_work_and_one_that_nobody_knows_is_an_error() {
    for (name, expected) in [("mcp__tracker__close", Some(Reason::UnknownTool)), ("close_issue", None)] {
        let answers = [calls([call(name, &json!({}))]), says("Done.")];
        let (_, finished) = Fixture::new(ApprovalMode::Default, answers).speculate("do it");
        let reason = match &finished.ending {
            Ending::Boundary { verdict } => Some(verdict.reason),
            _ => None,
        };
        assert_eq!(reason, expected, "{finished:?}");
    }
}

#[test]
fn one_that_reads_runs_ahead_over_what_is_staged() {
    let fixture = fixture(ApprovalMode::Default, &json!({}), Some(Declaration::reads("own", &[])));
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    assert!(matches!(&answers(&finished)[..], [ToolOutcome::Output(text)] if text == "# sample\n"));
    accepted(block_on(speculation.accept()).unwrap());
}

/// Commits that were made ahead are not in the repository on disk, so a tool that reads the repository would miss them.
#[test]
fn one_that_reads_the_repository_stops_behind_a_commit_of_the_work() {
    for (declared, stops) in
        [(Declaration::reads_repository("own", &[]), true), (Declaration::reads("own", &[]), false)]
    {
        let work = [
            calls([call("own", &json!({})), shell("git commit -m x"), call("own", &json!({}))]),
            says("Done."),
        ];
        let ViewFixture { mut fixture, views } = with_views(ApprovalMode::AutoEdit, work);
        views.play("git commit -m x", commits("2"));
        fixture.engine.toolbox = fixture.engine.toolbox.clone().with(Arc::new(UndeclaredWriteTool("own")));
        fixture.host.rules.lock().unwrap().tools.push(declared);
        let (_, finished) = fixture.speculate("do it");
        assert_eq!(answers(&finished).len(), if stops { 2 } else { 3 }, "{finished:?}");
        let reason = match &finished.ending {
            Ending::Boundary { verdict } => Some(verdict.reason),
            _ => None,
        };
        assert_eq!(reason, stops.then_some(Reason::ReadsStaged));
    }
}

#[test]
fn one_that_is_declared_to_read_and_writes_is_an_error() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit] {
        let args = json!({ "writes": "NEW.md" });
        let fixture = fixture(mode, &args, Some(Declaration::reads("own", &[])));
        let (_, finished) = fixture.speculate("do it");
        assert!(
            matches!(&answers(&finished)[..], [ToolOutcome::Error(why)] if why.contains("NEW.md")),
            "{finished:?}"
        );
    }
}

#[test]
fn what_one_stages_is_held_against_the_rules_path_by_path() {
    for (name, is_open) in [("NEW.md", true), (".git/hooks/pre-commit", false), (".env", false)] {
        let args = json!({ "writes": name });
        let fixture = fixture(ApprovalMode::AutoEdit, &args, Some(Declaration::stages("own", &["path"])));
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending, Ending::Completed);
        assert_eq!(matches!(answers(&finished)[..], [ToolOutcome::Output(_)]), is_open, "{name}");
        assert_eq!(finished.changes.changes.len(), usize::from(is_open), "{name}");
        accepted(block_on(speculation.accept()).unwrap());
        assert_eq!(fixture.tree.snapshot().contains_key(name), is_open, "{name}");
    }
}

/// Work that is based on a declaration is dropped if the host has withdrawn that declaration.
#[test]
fn a_declaration_counts_when_the_work_is_taken() {
    let fixture = fixture(ApprovalMode::AutoEdit, &json!({}), Some(Declaration::reads("own", &[])));
    let (speculation, _) = fixture.speculate("do it");
    fixture.host.rules.lock().unwrap().tools.clear();
    assert!(matches!(block_on(speculation.accept()).unwrap(), Acceptance::Withdrawn { .. }));
}

/// A tool of a server sees the real files. Once the work has staged something, the tool would answer about other files
/// than the work sees. A tool that the user does not trust never runs ahead.
#[test]
fn a_tool_of_a_server_runs_ahead_only_while_nothing_is_staged() {
    let staging = || call("write_file", &json!({ "file_path": "NEW.md", "content": "new\n" }));
    let own = || call("own", &json!({}));
    let cases = [
        (true, vec![own()], None, 1),
        (true, vec![own(), staging()], None, 2),
        (true, vec![staging(), own()], Some(Reason::ReadsStaged), 1),
        (false, vec![own()], Some(Reason::ServerTool), 0),
    ];
    for (trusted, answer, stops, answered) in cases {
        let mut fixture = Fixture::new(ApprovalMode::AutoEdit, [calls(answer), says("Done.")]);
        fixture.engine.toolbox = fixture.engine.toolbox.clone().with(Arc::new(UndeclaredWriteTool("own")));
        fixture.host.rules.lock().unwrap().tools.push(Declaration::of_server("own", trusted));
        let (_, finished) = fixture.speculate("do it");
        let stopped = match &finished.ending {
            Ending::Boundary { verdict } => Some(verdict.reason),
            _ => None,
        };
        assert_eq!((stopped, answers(&finished).len()), (stops, answered), "{:?}", finished.ending);
    }
}

/// The same holds if the files were staged in an earlier answer.
#[test]
fn what_was_staged_before_counts_for_a_tool_of_a_server() {
    let staging = call("write_file", &json!({ "file_path": "NEW.md", "content": "new\n" }));
    let answers = [calls([staging]), calls([call("own", &json!({}))]), says("Done.")];
    let mut fixture = Fixture::new(ApprovalMode::AutoEdit, answers);
    fixture.engine.toolbox = fixture.engine.toolbox.clone().with(Arc::new(UndeclaredWriteTool("own")));
    fixture.host.rules.lock().unwrap().tools.push(Declaration::of_server("own", true));
    let (speculation, finished) = fixture.speculate("do it");
    let Ending::Boundary { verdict } = &finished.ending else { panic!("{:?}", finished.ending) };
    assert_eq!(verdict.reason, Reason::ReadsStaged);
    drop(speculation);
}

/// If the user withdraws the trust in a server, work that is based on it is dropped.
#[test]
fn trust_in_a_server_counts_when_the_work_is_taken() {
    let declared = Some(Declaration::of_server("own", true));
    let fixture = fixture(ApprovalMode::AutoEdit, &json!({}), declared);
    let (speculation, _) = fixture.speculate("do it");
    fixture.host.rules.lock().unwrap().tools = vec![Declaration::of_server("own", false)];
    assert!(matches!(block_on(speculation.accept()).unwrap(), Acceptance::Withdrawn { .. }));
}
