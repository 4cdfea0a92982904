use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::block_on;
use futures::future::join;
use headstart_forked_query::{BackgroundModel, CacheSafeParams, Model, Recording, Replay, ToolCall};
use headstart_overlay_fs::{MemoryTree, Workspace};
use headstart_speculation::{Acceptance, Consent, Engine, Host, Limits, Status};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
use headstart_toolbox::Toolbox;

const RECORDING: &str = r#"{
  "turns": [
    { "toolCalls": [{ "name": "grep", "args": { "pattern": "f[a-z]+x", "path": "src" } }] },
    { "toolCalls": [{ "name": "edit",
        "args": { "file_path": "src/lib.rs", "old_string": "fix", "new_string": "fixed" } }] },
    { "text": "Fixed." }
  ],
  "suggestions": ["run the tests"]
}"#;

/// A world in which no time passes.
struct Still;

#[async_trait]
impl Host for Still {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext {
            mode: ApprovalMode::AutoEdit,
            workspace: "/project".to_owned(),
            ..GateContext::default()
        }
    }

    async fn consent(&self, _: &ToolCall, _: &Verdict) -> Consent {
        Consent::Decline
    }
}

/// The engine, the tools, the overlay and the recorded model together.
pub(crate) fn recording_is_accepted() -> bool {
    let Ok(recording) = Recording::parse(RECORDING) else { return false };
    let model: Arc<dyn Model> = Arc::new(Replay::instant(recording));
    let Ok(tree) = MemoryTree::from_files([("src/lib.rs", "// to fix\n")]) else { return false };
    let workspace = Arc::new(tree);
    let toolbox = Toolbox::standard(None);
    let params = CacheSafeParams::new(None, toolbox.schemas(), &[], "replay");
    let engine = Engine {
        background: BackgroundModel::main(model, "replay"),
        toolbox,
        workspace: Arc::clone(&workspace) as Arc<dyn Workspace>,
        gate: Arc::new(Gate::new()),
        host: Arc::new(Still),
        limits: Limits::default(),
    };
    let Ok((speculation, driver, _events)) = engine.start("1", &params, "fix the comment") else {
        return false;
    };
    let content = || workspace.snapshot().remove("src/lib.rs");

    block_on(join(driver, speculation.finished()));
    let untouched = content().as_deref() == Some(b"// to fix\n");
    let accepted = block_on(speculation.accept());
    untouched
        && speculation.status() == Status::Completed
        && matches!(accepted, Ok(Acceptance::Accepted(_)))
        && content().as_deref() == Some(b"// to fixed\n")
}
