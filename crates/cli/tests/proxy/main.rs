//! Holds how `headstart acp-proxy` works between a client that reads and writes plain lines and an agent that follows a
//! script.
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

mod accept;
mod battery;
#[path = "../acp/client.rs"]
mod client;
mod codex;
mod confinement;
mod forwarding;
#[path = "../../../shadow/tests/attacks/machine.rs"]
#[expect(dead_code, reason = "the tests of views use the rest")]
mod machine;
mod opencode;
mod pass_through;
mod products;
mod qwen;
mod races;
mod settings;
mod shutdown;
#[path = "../../../shadow/tests/support/state.rs"]
mod state;
#[path = "../support/mod.rs"]
mod support;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use client::Client;
use support::{PATIENCE, Session};

const AGENT: &str = include_str!("agent.py");
/// The prompt that is suggested after the first turn.
const NEXT: &str = "write it";

/// A user with a project, and with an agent that follows a script.
struct User {
    session: Session,
}

impl User {
    /// A user whose agent has this name.
    fn with_agent(name: &str, script: Value) -> Self {
        let session = Session::new();
        session.write("project/notes.txt", "one\n");
        session.write(&format!("home/bin/{name}"), AGENT);
        session.write("home/.claude/script.json", script.to_string());
        session.write("home/.claude/projects/.keep", "");
        let program = session.home().join("bin").join(name);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let session =
            session.variable("PATH", &format!("{}:/usr/bin:/bin", program.parent().unwrap().display()));
        Self { session }
    }

    /// A user whose agent's work can be taken over, with views turned on.
    fn new(script: Value) -> Self {
        let user = Self::with_agent("claude-agent-acp", script);
        Self { session: user.session.variable("HEADSTART_SHADOW", "on") }
    }

    /// A user to whom [`NEXT`] is suggested; the agent does these steps for it.
    fn with_next(steps: Value) -> Self {
        let look = json!([{ "call": { "kind": "read", "title": "Read", "rawInput": { "path": "notes.txt" } }, "ask": false }, { "say": "First answer." }]);
        Self::new(
            json!({ "hello": look, "suggest": [{ "say": json!({ "suggestion": NEXT }).to_string() }], NEXT: steps }),
        )
    }

    fn start(&self, arguments: &[&str], agent: &[&str]) -> Client {
        let all: Vec<_> =
            ["acp-proxy"].iter().chain(arguments).chain(&["--"]).chain(agent).copied().collect();
        Client::of(self.session.command(&all))
    }

    /// A client that has introduced itself to the agent.
    fn client(&self) -> Client {
        let mut client = self.start(&[], &["claude-agent-acp"]);
        let answer = client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        client
    }

    /// A client after its first turn, and the id of its session.
    fn after_hello(&self) -> (Client, String) {
        let mut client = self.client();
        let session = client.open(&self.session);
        assert_eq!(client.said(&session, "hello"), "end_turn");
        (client, session)
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.session.workspace().join(path)).ok()
    }

    /// The ids of the sessions that the agent keeps, in order.
    fn stored_sessions(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.session.home().join(".claude/projects")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> =
            names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }
}

/// An editor that has opened a session with a product behind the proxy, and the id of the session.
fn open_session(session: &Session, arguments: &[&str], product: &[&str]) -> (Client, String) {
    let all: Vec<_> = ["acp-proxy"].iter().chain(arguments).chain(&["--"]).chain(product).copied().collect();
    let mut client = Client::of(session.command(&all));
    client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let workspace = session.workspace().canonicalize().unwrap();
    let opened = client.request("session/new", json!({ "cwd": workspace, "mcpServers": [] }));
    let id = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    (client, id)
}

/// Like [`opened`], after two turns.
fn after_two_turns(session: &Session, arguments: &[&str], product: &[&str]) -> (Client, String) {
    let (mut client, id) = open_session(session, arguments, product);
    assert_eq!(client.said(&id, "hello"), "end_turn");
    assert_eq!(client.said(&id, "hello again"), "end_turn");
    (client, id)
}

/// Adds an entry to the script of the user's agent.
fn with(user: User, name: &str, value: Value) -> User {
    let path = user.session.home().join(".claude/script.json");
    let mut script: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    script[name] = value;
    std::fs::write(path, script.to_string()).unwrap();
    user
}

/// Waits for a question, and answers it with its option of this kind, as a person does who does not know the agent's
/// names. Returns the question.
fn answer_kind(client: &mut Client, kind: &str) -> Value {
    let question = client.until("a question", |message| message["method"] == "session/request_permission");
    let options = question["params"]["options"].as_array().unwrap();
    let option = options.iter().find(|option| option["kind"] == kind).unwrap_or_else(|| panic!("{question}"));
    let outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
    client.respond(&question, json!({ "outcome": outcome }));
    question
}

/// Waits until no process and no mount of this user is left in any view. Then fails if a file that was prepared for an
/// accept is left.
fn assert_nothing_is_left(session: &Session) {
    let root = session.workspace().parent().unwrap().display().to_string();
    let mounted = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut mounts = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("mountinfo")).ok());
        mounts.find(|mounts| mounts.contains(&root))
    };
    let deadline = Instant::now() + PATIENCE;
    while 0 < processes(session) || mounted().is_some() {
        assert!(Instant::now() < deadline, "processes or mounts are left: {:?}", mounted());
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut folders = vec![session.home().join(".local/state/headstart")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.starts_with(".headstart-staging"), "{} is left", path.display());
            folders.extend(path.is_dir().then_some(path));
        }
    }
}

/// The number of processes that have this user's home in their environment.
fn processes(session: &Session) -> usize {
    let mark = format!("HOME={}", session.home().display()).into_bytes();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments
        .filter(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == mark))
        .count()
}

/// The text of the answers since message number `from`.
fn answer_text(client: &Client, from: usize) -> String {
    let updates =
        client.log[from..].iter().filter(|(own, _)| !own).map(|(_, message)| &message["params"]["update"]);
    let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// The sessions that an editor is shown.
fn list_sessions(client: &mut Client) -> Vec<String> {
    let answer = client.request("session/list", json!({}));
    let sessions = answer["result"]["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
}

fn kill(client: &Client) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.process()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
