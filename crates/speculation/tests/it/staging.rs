//! A call that fails leaves nothing staged.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use futures::FutureExt;
use futures::executor::block_on;
use headstart_forked_query::ToolSchema;
use headstart_speculation::{Ending, Limit};
use headstart_tool_gate::ApprovalMode;
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use crate::support::{Fixture, accepted, call, calls, path, says, write};

/// Writes one of two files, and then does what its argument says.
struct PartialWriteTool;

#[async_trait]
impl Tool for PartialWriteTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema { name: "edit".into(), description: String::new(), parameters: json!({}) }
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        context.view.write(&path("NEW.md"), b"half".to_vec()).await?;
        context.view.remove(&path("README.md")).await?;
        match args["file_path"].as_str() {
            Some("fails") => Err(ToolError::failed("the second file failed")),
            Some("full") => {
                context.view.write(&path("large"), vec![0; 100]).await?;
                Ok("done".into())
            }
            _ => std::future::pending().await,
        }
    }
}

fn fixture(what: &str) -> Fixture {
    let partial = call("edit", &json!({ "file_path": what }));
    let mut fixture = Fixture::new(
        ApprovalMode::AutoEdit,
        [calls([write("NEW.md", "new\n")]), calls([partial]), says("It did not work.")],
    );
    fixture.engine.toolbox = fixture.engine.toolbox.clone().with(Arc::new(PartialWriteTool));
    fixture.engine.limits.staged.bytes = 50;
    fixture
}

fn assert_as_before(fixture: &Fixture) {
    let files = fixture.tree.snapshot();
    assert_eq!(files["NEW.md"], b"new\n");
    assert!(files.contains_key("README.md") && !files.contains_key("large"));
}

#[test]
fn what_a_failing_call_staged_is_taken_back() {
    let fixture = fixture("fails");
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(finished.cost.staged_files, 1);
    accepted(block_on(speculation.accept()).unwrap());
    assert_as_before(&fixture);
}

#[test]
fn what_a_call_staged_that_reached_the_quota_is_taken_back() {
    let fixture = fixture("full");
    let (speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Staged });
    let accepted = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(accepted.transcript.pending_call().unwrap().name, "edit");
    assert_as_before(&fixture);
}

#[test]
fn what_a_call_staged_that_the_clock_cut_is_taken_back() {
    let fixture = fixture("hangs");
    let (speculation, mut driver, _events) = fixture.start("do it");
    assert!((&mut driver).now_or_never().is_none());
    assert_eq!(speculation.changes().changes.len(), 2, "it is at work");
    fixture.host.time_is_up.store(true, Ordering::SeqCst);
    block_on(driver);
    let accepted = accepted(block_on(speculation.accept()).unwrap());
    assert_eq!(accepted.ending, Ending::Exhausted { limit: Limit::Time });
    assert_eq!(accepted.transcript.pending_call().unwrap().name, "edit");
    assert_as_before(&fixture);
}
