//! Measures what a user waits for, on a real disk and a real socket: from Tab until the work is applied, from an abort
//! until the connection is closed and the overlay is gone, and for calls that run at the same time. Each is shown with
//! its floor, the least that it could take.
#![expect(clippy::wildcard_imports, reason = "a group of benchmarks is a module of this file")]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use divan::{Bencher, black_box};
use futures::future::BoxFuture;
use headstart_forked_query::{BackgroundModel, CacheSafeParams, Message, Model, Role, ToolCall};
use headstart_overlay_fs::{OsOptions, OsTree, Workspace};
use headstart_providers::{HttpModel, Provider, Recording, Replay, Timeouts};
use headstart_speculation::{Acceptance, Consent, Ending, Engine, Host, Limits, Speculation, Status};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict, no_repository};
use headstart_toolbox::{CommandOutput, CommandRequest, CommandRunner, ToolError, Toolbox};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const FILES: usize = 10;

/// A host with a clock, which may run calls on threads.
struct Program {
    started: Instant,
    workspace: String,
    threads: bool,
}

#[async_trait]
impl Host for Program {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext {
            mode: ApprovalMode::AutoEdit,
            workspace: self.workspace.clone(),
            ..GateContext::default()
        }
    }

    async fn run_concurrently(&self, work: BoxFuture<'static, ()>) {
        if !self.threads {
            return work.await;
        }
        let mut task = JoinSet::new();
        task.spawn(work);
        task.join_next().await.unwrap().unwrap();
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Stop
    }
}

/// Runs commands as plain processes, without the rules of the binary's own runner.
struct Processes;

#[async_trait]
impl CommandRunner for Processes {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        let mut command = tokio::process::Command::new("bash");
        let done = command
            .args(["-c", request.command.prove_by(no_repository).unwrap().line])
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let output = String::from_utf8_lossy(&done.stdout).into_owned();
        Ok(CommandOutput { output, exit_code: done.status.code(), timed_out: false, truncated: false })
    }
}

fn engine(model: Arc<dyn Model>, tree: Arc<dyn Workspace>, root: &Path, threads: bool) -> Engine {
    let workspace = root.display().to_string();
    Engine {
        background: BackgroundModel::main(model, "recording"),
        toolbox: Toolbox::standard(Some(Arc::new(Processes))),
        workspace: tree,
        gate: Arc::new(Gate::new()),
        host: Arc::new(Program { started: Instant::now(), workspace, threads }),
        limits: Limits::default(),
    }
}

/// A model that answers once with these calls, and then with a closing text.
fn answering(calls: &[Value]) -> Arc<dyn Model> {
    let turns = json!({"turns": [{"text": "So be it.", "toolCalls": calls}, {"text": "It is done."}]});
    Arc::new(Replay::instant(Recording::parse(&turns.to_string()).unwrap()))
}

fn history() -> Vec<Message> {
    let say = |role, number| Message::text(role, format!("Words of entry {number}. ").repeat(30));
    (0..20).flat_map(|number| [say(Role::User, number), say(Role::Model, number)]).collect()
}

fn params(engine: &Engine, history: &[Message]) -> CacheSafeParams {
    CacheSafeParams::new(Some("Be brief.".into()), engine.toolbox.schemas(), history, "recording")
}

/// Runs work to its end, so that it can be accepted.
fn ended(runtime: &Runtime, engine: &Engine) -> Speculation {
    let (speculation, driver, _events) = engine.start("1", &params(engine, &history()), "go").unwrap();
    runtime.block_on(runtime.spawn(driver)).unwrap();
    assert_eq!(speculation.status(), Status::Completed);
    speculation
}

/// Makes a workspace, and returns it with the calls that change its files.
fn workspace(folder: &Path) -> (Arc<dyn Workspace>, Vec<Value>) {
    let root = folder.join("project");
    fs::create_dir(&root).unwrap();
    let calls = (0..FILES).map(|number| {
        let name = format!("file-{number}.txt");
        fs::write(root.join(&name), "old\n".repeat(1_000)).unwrap();
        json!({"name": "write_file", "args": {"file_path": name, "content": "new\n".repeat(1_000)}})
    });
    let calls = calls.collect();
    let options = OsOptions { state: Some(folder.join("state")), ..OsOptions::default() };
    (Arc::new(OsTree::open_with(&root, options).unwrap()), calls)
}

fn main() {
    divan::main();
}

/// A server that never answers. It tells when a client has come and when it has left.
async fn hanging()
-> (String, tokio::sync::mpsc::UnboundedReceiver<()>, tokio::sync::mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (came, client_came) = tokio::sync::mpsc::unbounded_channel();
    let (left, client_left) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (came, left) = (came.clone(), left.clone());
            tokio::spawn(async move {
                let mut bytes = [0; 8 * 1024];
                let mut head = Vec::new();
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    let read = socket.read(&mut bytes).await.unwrap();
                    head.extend_from_slice(&bytes[..read]);
                }
                let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                socket.write_all(answer.as_bytes()).await.unwrap();
                let _ = came.send(());
                while socket.read(&mut bytes).await.is_ok_and(|read| 0 < read) {}
                let _ = left.send(());
            });
        }
    });
    (url, client_came, client_left)
}

/// Applies ten files of 4 KB.
mod tab {
    use super::*;

    #[divan::bench(name = "floor: write over them", sample_count = 50, sample_size = 1)]
    fn floor(bencher: Bencher<'_, '_>) {
        let folder = tempfile::tempdir().unwrap();
        let (_tree, _calls) = workspace(folder.path());
        let content = "new\n".repeat(1_000);
        bencher.bench_local(|| {
            for number in 0..FILES {
                fs::write(folder.path().join(format!("project/file-{number}.txt")), &content).unwrap();
            }
        });
    }

    #[divan::bench(name = "applied, history injected", sample_count = 50, sample_size = 1)]
    fn applied(bencher: Bencher<'_, '_>) {
        let runtime = Runtime::new().unwrap();
        let inputs = || {
            let folder = tempfile::tempdir().unwrap();
            let (tree, calls) = workspace(folder.path());
            let engine = engine(answering(&calls), tree, &folder.path().join("project"), true);
            (ended(&runtime, &engine), engine, history(), folder)
        };
        bencher.with_inputs(inputs).bench_local_values(|(speculation, engine, mut history, folder)| {
            let Acceptance::Accepted(accepted) = runtime.block_on(speculation.accept()).unwrap() else {
                panic!("it is not accepted");
            };
            assert_eq!(accepted.ending, Ending::Completed);
            history.extend(accepted.transcript.messages);
            let params = black_box(params(&engine, &history));
            // The returned values are dropped after the clock has stopped.
            (speculation, engine, params, folder)
        });
    }
}

mod abort {
    use super::*;

    #[divan::bench(
        name = "floor: drop a connection, and the server sees it",
        sample_count = 50,
        sample_size = 1
    )]
    fn floor(bencher: Bencher<'_, '_>) {
        let runtime = Runtime::new().unwrap();
        let (url, mut came, mut left) = runtime.block_on(hanging());
        let address = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        let inputs = || {
            runtime.block_on(async {
                let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
                socket.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
                came.recv().await.unwrap();
                socket
            })
        };
        bencher.with_inputs(inputs).bench_local_values(|socket| {
            drop(socket);
            runtime.block_on(left.recv()).unwrap();
        });
    }

    #[divan::bench(name = "connection closed, overlay gone", sample_count = 50, sample_size = 1)]
    fn gone(bencher: Bencher<'_, '_>) {
        let runtime = Runtime::new().unwrap();
        let (url, mut came, mut left) = runtime.block_on(hanging());
        let folder = tempfile::tempdir().unwrap();
        let (tree, _) = workspace(folder.path());
        let service = Provider::compatible("openai", url.as_str());
        let model: Arc<dyn Model> = Arc::new(HttpModel::new(service, None, Timeouts::default()).unwrap());
        let engine = engine(model, tree, &folder.path().join("project"), true);
        let params = params(&engine, &history());
        let inputs = || {
            runtime.block_on(async {
                let (speculation, driver, events) = engine.start("1", &params, "go").unwrap();
                tokio::spawn(driver);
                came.recv().await.unwrap();
                (speculation, events)
            })
        };
        bencher.with_inputs(inputs).bench_local_values(|(speculation, events)| {
            speculation.abort();
            runtime.block_on(left.recv()).unwrap();
            assert!(speculation.changes().is_empty());
            (speculation, events)
        });
    }
}

/// Runs three commands of 100 ms in one turn.
mod commands {
    use super::*;

    #[divan::bench(name = "floor: one such process", sample_count = 10, sample_size = 1)]
    fn floor() {
        std::process::Command::new("bash").args(["-c", "sleep 0.1"]).status().unwrap();
    }

    #[divan::bench(name = "so many at once", args = [1, 8], sample_count = 10, sample_size = 1)]
    fn three(bencher: Bencher<'_, '_>, at_once: usize) {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (tree, _) = workspace(folder.path());
        let root = folder.path().join("project");
        let calls = vec![json!({"name": "shell", "args": {"command": "sleep 0.1"}}); 3];
        let inputs = || {
            let mut engine = engine(answering(&calls), Arc::clone(&tree), &root, true);
            engine.limits.calls_at_once = at_once;
            engine
        };
        bencher.with_inputs(inputs).bench_local_values(|engine| ended(&runtime, &engine));
    }
}

/// Searches through 2,000 files of 4 KB, once or three times in one turn.
mod searches {
    use super::*;

    const WAYS: [&str; 4] = [
        "floor: one of them",
        "three, one after the other",
        "three at once, in place",
        "three at once, on threads",
    ];

    #[divan::bench(args = WAYS, sample_count = 10, sample_size = 1)]
    fn searches(bencher: Bencher<'_, '_>, way: &str) {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        for number in 0..2_000 {
            let place = root.join(format!("folder-{}", number % 50));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(format!("{number}.rs")), "fn some_name() { some_call(); }\n".repeat(125))
                .unwrap();
        }
        let tree: Arc<dyn Workspace> = Arc::new(OsTree::open(&root).unwrap());
        let search = |pattern: &str| json!({"name": "grep", "args": {"pattern": pattern}});
        let calls = [search("first_pattern"), search("second_pattern"), search("third_pattern")];
        let number = if way.starts_with("three") { 3 } else { 1 };
        let inputs = || {
            let threads = way != "three at once, in place";
            let mut engine = engine(answering(&calls[..number]), Arc::clone(&tree), &root, threads);
            engine.limits.calls_at_once = if way.starts_with("three at once") { 8 } else { 1 };
            engine
        };
        bencher.with_inputs(inputs).bench_local_values(|engine| ended(&runtime, &engine));
    }
}
