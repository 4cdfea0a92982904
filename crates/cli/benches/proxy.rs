//! Measures what `headstart acp-proxy` adds to a message, and how long it takes to take work that ran ahead: `cargo
//! bench -p headstart --bench proxy`.
//!
//! The agent is the one of the tests, in Python. It is asked directly, between two `cat`s (the least that any process
//! in between can cost), and behind the proxy.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const AGENT: &str = include_str!("../tests/proxy/agent.py");
const NEXT: &str = "write it";

/// The number of rounds: `all`, or one if the benchmark runs as a test.
fn rounds(all: usize) -> usize {
    if std::env::args().any(|argument| argument == "--bench") { all } else { 1 }
}

/// The simplest form of an editor: a client that writes requests and reads messages.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Editor {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut editor = Self { child, input, output, next: 0 };
        editor.ask("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        editor
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(0 < self.output.read_line(&mut line).unwrap(), "it has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the answer to a request, and how many messages came before it.
    fn ask(&mut self, method: &str, params: &Value) -> (Value, usize) {
        self.next += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        for before in 0.. {
            let message = self.read();
            if message["id"] == self.next && message.get("method").is_none() {
                return (message["result"].clone(), before);
            }
        }
        unreachable!("it reads until there is an answer")
    }

    /// Reads one message, and returns whether it says that the work ahead for the suggested prompt is ready.
    fn has_read_of_ready_work(&mut self) -> bool {
        let message = self.read();
        let suggestion = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        let state = &suggestion["_meta"]["headstart"]["state"];
        // If no work is running, nothing more would come, and the benchmark would wait forever.
        assert!(suggestion.is_null() || state == "running" || state == "ready", "{message}");
        state == "ready"
    }

    fn open(&mut self, project: &Path) -> String {
        let (opened, _) = self.ask("session/new", &json!({ "cwd": project, "mcpServers": [] }));
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> usize {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let (answer, before) = self.ask("session/prompt", &prompt);
        assert_eq!(answer["stopReason"], "end_turn", "{text}");
        before
    }

    fn end(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project) = (root.join("home"), root.join("project"));
    for folder in [home.join("bin"), home.join(".claude/projects"), project.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(project.join("notes.txt"), "one\n").unwrap();
    let agent = home.join("bin/claude-agent-acp");
    fs::write(&agent, AGENT).unwrap();
    fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
    let look = json!({ "call": { "kind": "read", "title": "Read", "rawInput": { "path": "notes.txt" } }, "ask": false });
    let edits = "for number in range(10): open(cwd + f'/{number}.txt', 'w').write(os.urandom(8).hex())";
    let script = json!({
        "hello": [look, { "say": "First answer." }], "many": [{ "many": 10_000 }], NEXT: [{ "python": edits }],
        "suggest": [{ "say": json!({ "suggestion": NEXT }).to_string() }],
    });
    fs::write(home.join(".claude/script.json"), script.to_string()).unwrap();
    let command = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(&project)
            .env_clear()
            .env("HOME", &home)
            .env("SHELL", "/bin/bash");
        command.env("PATH", format!("{}:/usr/bin:/bin", home.join("bin").display()));
        command.env("HEADSTART_SHADOW", "on").env("HEADSTART_MACHINE", root.join("machine"));
        command
    };
    let headstart = env!("CARGO_BIN_EXE_headstart");
    let agent = agent.display().to_string();
    let between = format!("cat | {agent} | cat");
    let mut ways = [
        ("the agent alone", vec![agent.as_str()]),
        ("between two cats", vec!["sh", "-c", &between]),
        ("headstart acp-proxy", vec![headstart, "acp-proxy", "--suggestions", "off", "--", &agent]),
    ]
    .map(|(name, words)| {
        let mut editor = Editor::start(command(&words));
        let session = editor.open(&project);
        (name, editor, session, Vec::new(), Vec::new())
    });
    for _ in 0..rounds(500) {
        for (_, editor, _, trips, _) in &mut ways {
            trips.push(time(|| drop(editor.ask("_echo", &json!({})))));
        }
    }
    for _ in 0..rounds(10) {
        for (_, editor, session, _, floods) in &mut ways {
            floods.push(time(|| assert!(10_000 <= editor.prompt(session, "many"))));
        }
    }
    for (name, editor, _, trips, floods) in ways {
        let rate = 10_000.0 / median(floods).as_secs_f64();
        println!("{name:<22}a request and its answer {:>9.3?}{rate:>10.0} updates a second", median(trips));
        editor.end();
    }
    let mut editor = Editor::start(command(&[headstart, "acp-proxy", "--", "claude-agent-acp"]));
    let session = editor.open(&project);
    editor.ask("session/set_mode", &json!({ "sessionId": session, "modeId": "acceptEdits" }));
    editor.prompt(&session, "hello");
    let mut accepts = Vec::new();
    for _ in 0..rounds(20) {
        while !editor.has_read_of_ready_work() {}
        accepts.push(time(|| assert!(0 < editor.prompt(&session, "/next"))));
    }
    accepts.sort_unstable();
    let longest = accepts[accepts.len() - 1];
    println!(
        "/next to its answer, ten files: median {:.2?}, longest of {} {longest:.2?}",
        median(accepts.clone()),
        accepts.len()
    );
    editor.end();
}

fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
