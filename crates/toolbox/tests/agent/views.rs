//! Commands that run in views. The views of these tests are in memory.

use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use headstart_forked_query::{ToolCall, ToolSchema};
use headstart_overlay_fs::{Overlay, Quota, Tree};
use headstart_tool_gate::{DenyRules, GateContext};
use headstart_toolbox::{
    MemoryViews, PriorGitChanges, ScriptedRun, SecretAccess, Tier, Tool, ToolContext, ToolError, ToolLimits,
    ToolOutput, Toolbox, ViewCallOutput, ViewId, ViewSupport,
};
use serde_json::{Map, Value, json};

use crate::session::{WORKSPACE, path, tree};

struct Bench {
    views: Arc<MemoryViews>,
    toolbox: Toolbox,
    overlay: Arc<Overlay>,
    gate: GateContext,
}

fn bench() -> Bench {
    let files: Arc<dyn Tree> =
        Arc::new(tree(&[("src/lib.rs", "old\n"), ("gone.txt", "x\n"), ("keys/a", "")]));
    let views = Arc::new(MemoryViews::default());
    Bench {
        toolbox: Toolbox::standard(Some(views.clone())),
        views,
        overlay: Arc::new(Overlay::new(files, Quota::default())),
        gate: GateContext {
            workspace: WORKSPACE.to_owned(),
            deny: DenyRules::from_patterns(["keys/"]).expect("a valid pattern"),
            ..GateContext::default()
        },
    }
}

impl Bench {
    fn run(&self, name: &str, command: &str) -> Result<ViewCallOutput, ToolError> {
        let args = json!({ "command": command });
        let call = ToolCall {
            id: "1".into(),
            name: name.into(),
            args: args.as_object().cloned().unwrap_or_default(),
        };
        let limits = ToolLimits::default();
        let context = ToolContext {
            view: &self.overlay,
            gate: &self.gate,
            limits: &limits,
            hardened: None,
            consented: false,
            attended: false,
        };
        block_on(self.toolbox.run_in_view(
            &call,
            context,
            (&ViewId::new("s1"), None),
            Arc::default(),
            PriorGitChanges::default(),
        ))
    }
}

#[test]
fn a_command_sees_what_is_staged_and_says_what_it_changed() {
    let bench = bench();
    block_on(bench.overlay.write(&path("src/lib.rs"), b"staged\n".to_vec())).unwrap();
    let before = bench.overlay.change_set();
    let played = ScriptedRun::new("formatted\n", 0)
        .writing(path("src/lib.rs"), "formatted\n")
        .writing(path("new/a.txt"), "a\n")
        .removing(path("gone.txt"));
    bench.views.play("fmt", played.with(|answer| answer.notes.push("a socket was left out".into())));
    let ran = bench.run("Bash", "fmt").unwrap();
    assert_eq!(
        ran.output.text(),
        "formatted\n[changed: gone.txt, new/a.txt, src/lib.rs]\n[a socket was left out]"
    );
    assert_eq!(ran.ran.changed_since(&before).len(), 3);
    assert_eq!(bench.overlay.change_set().changes, before.changes, "to stage it is the caller's");

    let requests = bench.views.requests();
    let request = &requests[0];
    assert_eq!(request.staged.changes, before.changes);
    assert!(request.deny.matching(&path("keys/a")).is_some());
    assert_eq!((&*request.command, request.secrets), ("fmt", SecretAccess::Closed));
    assert_eq!(bench.views.real_runs(), [""; 0]);
    assert_eq!(bench.views.held(), [ViewId::new("s1")]);
    bench.toolbox.end_view(&ViewId::new("s1"));
    assert_eq!(bench.views.held(), []);
}

#[test]
fn what_a_view_kept_from_a_command_is_told() {
    let bench = bench();
    let played = |network: u64, exit: i32| {
        ScriptedRun::new("no\n", exit).with(|answer| {
            answer.refused.network = network;
            answer.refused.quota = Some("512 MiB of files".into());
        })
    };
    bench.views.play("get", played(2, 0));
    bench.views.play("get", played(2, 1));
    bench.views.play("get", played(0, 1));
    let said = bench.run("shell", "get").unwrap();
    assert_eq!(
        said.output.text(),
        "no\n[it looked for a network, and there is none for work that runs ahead]\n[it reached a limit: 512 MiB of files]"
    );
    let explains = |ran: &ViewCallOutput| ran.ran.refused.may_explain(ran.ran.output.exit_code);
    assert_eq!((explains(&said), explains(&bench.run("shell", "get").unwrap())), (false, true));
    assert!(!explains(&bench.run("shell", "get").unwrap()));
}

/// A host's own shell, which does not use the port for views.
struct HostShell;

#[async_trait]
impl Tool for HostShell {
    fn schema(&self) -> ToolSchema {
        ToolSchema { name: "Bash".into(), description: String::new(), parameters: json!({}) }
    }

    async fn run(
        &self,
        _args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        Ok("own".into())
    }
}

#[test]
fn without_a_view_nothing_runs() {
    let mut bench = bench();
    assert_eq!(bench.toolbox.views(), ViewSupport::Views { tier: Tier::Memory });
    let none = |outcome: Result<ViewCallOutput, ToolError>| matches!(outcome, Err(ToolError::NoView { .. }));
    assert!(none(bench.run("read_file", "make")));
    bench.views.end_support("the kernel has none");
    assert!(none(bench.run("shell", "make")));
    bench.toolbox = bench.toolbox.with(Arc::new(HostShell));
    assert!(!bench.toolbox.views().has_views());
    assert!(none(bench.run("shell", "make")));
    bench.toolbox = Toolbox::standard(None);
    assert!(!bench.toolbox.views().has_views());
    assert!(none(bench.run("shell", "make")));
    assert_eq!(bench.views.real_runs(), [""; 0]);
}
