//! Runs one case of each fixture with the crates themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::executor::block_on;
use futures::future::join;
use headstart_forked_query::{BackgroundModel, CacheSafeParams, Model, ToolCall};
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, MemoryTree, Overlay, Quota, Tree, Workspace, WorkspacePath,
};
use headstart_providers::{Recording, Replay};
use headstart_speculation::{Acceptance, Consent, Engine, Host, Limits, task_tool};
use headstart_tool_gate::{
    ApprovalMode, CallRef, DenyRule, DenyRules, Gate, GateContext, Policies, PolicyRule, Verdict,
};
use headstart_toolbox::{Toolbox, more_tools};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn gate(input: &Value) -> Value {
    let call = &input["call"];
    let (name, args) = (call["name"].as_str().unwrap(), call["args"].as_object().unwrap());
    json!(Gate::new().judge(CallRef { name, args }, &context(&input["context"])))
}

fn context(given: &Value) -> GateContext {
    let list = |field: &str| given[field].as_array().cloned().unwrap_or_default();
    let deny =
        list("deny").iter().map(|rule| DenyRule(rule.as_str().unwrap().to_owned())).collect::<Vec<_>>();
    let policies =
        list("policies").iter().map(|rule| PolicyRule::deserialize(rule).unwrap()).collect::<Vec<_>>();
    GateContext {
        mode: ApprovalMode::deserialize(&given["mode"]).unwrap_or_default(),
        workspace: given["workspace"].as_str().unwrap_or("/workspace").to_owned(),
        deny: DenyRules::new(deny).unwrap(),
        policies: Policies::new(policies, []).unwrap(),
        ..GateContext::default()
    }
}

pub(super) fn overlay(input: &Value) -> Value {
    let tree = Arc::new(tree(&input["files"]));
    let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
    let operations = input["operations"].as_array().unwrap();
    block_on(async {
        for operation in operations {
            operate(&overlay, operation).await;
        }
    });
    let (changes, usage) = (overlay.change_set(), overlay.usage());
    let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    json!({
        "changeSet": changes,
        "summary": changes.summary(),
        "diff": changes.diff(),
        "patch": changes.patch(),
        "usage": { "files": usage.files, "bytes": usage.bytes },
        "committed": matches!(outcome, CommitOutcome::Committed(_)),
        "files": files(&tree),
    })
}

async fn operate(overlay: &Overlay, operation: &Value) {
    let path = |place: usize| WorkspacePath::parse(operation[place].as_str().unwrap()).unwrap();
    match operation[0].as_str().unwrap() {
        "write" => overlay.write(&path(1), bytes(&operation[2])).await.unwrap(),
        "remove" => overlay.remove(&path(1)).await.unwrap(),
        "rename" => overlay.rename(&path(1), &path(2)).await.unwrap(),
        "createDir" => overlay.create_dir(&path(1)).await.unwrap(),
        "read" => drop(overlay.read(&path(1)).await.unwrap()),
        other => panic!("{other} is no operation"),
    }
}

/// A text, or a list of bytes.
fn bytes(content: &Value) -> Vec<u8> {
    match content {
        Value::String(text) => text.clone().into_bytes(),
        list => Vec::deserialize(list).unwrap(),
    }
}

fn tree(files: &Value) -> MemoryTree {
    let files = files.as_object().unwrap().iter();
    MemoryTree::from_files(files.map(|(path, text)| (path.clone(), text.as_str().unwrap()))).unwrap()
}

/// Every file in the order of its path, without folders. The content is given as bytes, so that nothing is lost.
fn files(tree: &MemoryTree) -> BTreeMap<String, Vec<u8>> {
    tree.snapshot().into_iter().filter(|(path, _)| !path.ends_with('/')).collect()
}

/// A host for which no time passes.
struct Still(ApprovalMode);

#[async_trait]
impl Host for Still {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext { mode: self.0, workspace: "/workspace".to_owned(), ..GateContext::default() }
    }

    async fn consent(&self, _: &ToolCall, _: &Verdict) -> Consent {
        Consent::Decline
    }
}

/// Runs a speculation. The result has no times, because they differ in other environments.
pub(super) fn speculation(input: &Value) -> Value {
    let recording = Recording::parse(&input["recording"].to_string()).unwrap();
    let model: Arc<dyn Model> = Arc::new(Replay::instant(recording));
    let tree = Arc::new(tree(&input["files"]));
    let more = more_tools().into_iter().chain([task_tool()]);
    let toolbox = more.fold(Toolbox::standard(None), Toolbox::with);
    let params = CacheSafeParams::new(None, toolbox.schemas(), &[], "recorded");
    let engine = Engine {
        background: BackgroundModel::main(model, "recorded"),
        toolbox,
        workspace: Arc::clone(&tree) as Arc<dyn Workspace>,
        gate: Arc::new(Gate::new()),
        host: Arc::new(Still(ApprovalMode::deserialize(&input["mode"]).unwrap())),
        limits: Limits::default(),
    };
    let (speculation, driver, events) =
        engine.start("1", &params, input["prompt"].as_str().unwrap()).unwrap();
    let (finished, (), events) = block_on(async {
        let ((), (finished, events)) =
            join(driver, join(speculation.finished(), events.collect::<Vec<_>>())).await;
        (finished, (), events)
    });
    let before = files(&tree);
    let accepted = match block_on(speculation.accept()).unwrap() {
        Acceptance::Accepted(accepted) => json!({
            "type": "accepted",
            "changes": accepted.changes,
            "merged": accepted.merged,
            "next": accepted.next,
        }),
        Acceptance::Discarded => json!({ "type": "discarded" }),
        _ => json!({ "type": "nothing" }),
    };
    let cost = &finished.cost;
    json!({
        "events": events,
        "ending": finished.ending,
        "transcript": finished.transcript,
        "changes": finished.changes,
        "pendingCall": finished.pending_call(),
        "cost": [cost.turns, cost.tool_calls, cost.staged_files, cost.staged_bytes],
        "before": before,
        "accepted": accepted,
        "after": files(&tree),
    })
}
