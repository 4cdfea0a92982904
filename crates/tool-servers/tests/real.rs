//! The protocol's reference servers from npm, over standard input and output. `.ci/install programs` installs them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headstart_overlay_fs::{MemoryTree, Overlay, Quota};
use headstart_tool_gate::GateContext;
use headstart_tool_servers::{Connect, ServerConfig, ServerName, ToolServers, Trust};
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolLimits, ToolOutput};
use serde_json::{Value, json};

fn program(name: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let program = target.join("tool-servers/node_modules/.bin").join(format!("mcp-server-{name}"));
    assert!(program.exists(), "{} is not there: `.ci/install programs` installs it", program.display());
    program.to_str().unwrap().to_owned()
}

async fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)], folder: &Path) -> ToolServers {
    let line = [program(name)].into_iter().chain(arguments.iter().map(|argument| (*argument).to_owned()));
    let path = std::env::var("PATH").unwrap();
    let environment =
        environment.iter().copied().chain([("PATH", path.as_str()), ("HOME", folder.to_str().unwrap())]);
    let config = ServerConfig {
        name: ServerName::new(name).unwrap(),
        connect: Connect::Command {
            line: line.collect(),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            folder: folder.to_owned(),
        },
        trust: Trust::ReadOnlyHints,
        timeout: Duration::from_secs(60),
    };
    let servers = ToolServers::start(vec![config]).await;
    assert!(
        servers.start_reports()[0].tools.is_ok() && servers.start_reports()[0].omitted.is_empty(),
        "{:?}",
        servers.start_reports()
    );
    servers
}

async fn call(servers: &ToolServers, tool: &str, attended: bool, args: Value) -> Result<String, ToolError> {
    let tools = servers.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    let tool = tools
        .iter()
        .find(|known| known.name() == tool)
        .unwrap_or_else(|| panic!("{tool} is none of {names:?}"));
    let view = Arc::new(Overlay::new(Arc::new(MemoryTree::new()), Quota::default()));
    let (gate, limits) = (GateContext::default(), ToolLimits::default());
    let context =
        ToolContext { view: &view, gate: &gate, limits: &limits, hardened: None, consented: true, attended };
    tool.run(args.as_object().unwrap(), context).await.map(ToolOutput::into_text)
}

#[tokio::test]
async fn everything_that_the_protocol_has() {
    let folder = tempfile::tempdir().unwrap();
    let servers = start("everything", &[], &[], folder.path()).await;
    assert!(
        call(&servers, "mcp__everything__echo", true, json!({ "message": "hi" }))
            .await
            .unwrap()
            .contains("hi")
    );
    let sum = call(&servers, "mcp__everything__get-sum", true, json!({ "a": "2", "b": 3 })).await.unwrap();
    assert!(sum.contains('5'), "a number that was written as text: {sum}");
    let picture = call(&servers, "mcp__everything__get-tiny-image", true, json!({})).await.unwrap();
    assert!(
        picture.contains("image/png") && picture.contains("not shown") && picture.len() < 2000,
        "{picture}"
    );
    let wrong = call(&servers, "mcp__everything__echo", true, json!({})).await.unwrap_err().to_string();
    assert!(wrong.contains("message"), "{wrong}");
    let resources = servers.resources().await;
    let first = resources.first().unwrap();
    let said = servers.read_resource("everything", &first.uri).await.unwrap();
    assert!(said.as_ref().is_ok_and(|said| !said.is_empty()), "{first:?}: {said:?}");
    let prompts = servers.prompts().await;
    let simple = prompts.iter().find(|prompt| prompt.arguments.is_empty()).unwrap();
    let said = servers.prompt("everything", &simple.name, "").await.unwrap().unwrap();
    assert!(said.contains("prompt"), "{said}");
    servers.close().await;
}

#[tokio::test]
async fn files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::write(root.join("a.txt"), "the content\n").unwrap();
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let servers = start("filesystem", &[root.to_str().unwrap()], &[], &root).await;
    let read = call(&servers, "mcp__filesystem__read_text_file", true, json!({ "path": path("a.txt") }))
        .await
        .unwrap();
    assert!(read.contains("the content"), "{read}");
    let write = json!({ "path": path("b.txt"), "content": "new" });
    let ahead =
        call(&servers, "mcp__filesystem__write_file", false, write.clone()).await.unwrap_err().to_string();
    assert!(ahead.contains("ahead") && !root.join("b.txt").exists(), "{ahead}");
    call(&servers, "mcp__filesystem__write_file", true, write).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("b.txt")).unwrap(), "new");
    let outside =
        call(&servers, "mcp__filesystem__read_text_file", true, json!({ "path": "/etc/passwd" })).await;
    assert!(outside.unwrap_err().to_string().starts_with("tool server filesystem: "));
    servers.close().await;
}

#[tokio::test]
async fn memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.jsonl");
    let servers = start("memory", &[], &[("MEMORY_FILE_PATH", file.to_str().unwrap())], folder.path()).await;
    let entity =
        json!({ "entities": [{ "name": "Ada", "entityType": "person", "observations": ["writes Rust"] }] });
    call(&servers, "mcp__memory__create_entities", true, entity).await.unwrap();
    let graph = call(&servers, "mcp__memory__read_graph", true, json!({})).await.unwrap();
    assert!(graph.contains("writes Rust"), "{graph}");
    servers.close().await;
}
