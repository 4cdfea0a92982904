//! `headstart acp-proxy` between a client that knows nothing but lines and an agent that does what a test says.
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

#[path = "../acp/client.rs"]
mod client;
mod codex;
mod disorder;
mod endings;
mod forwarding;
mod opencode;
mod products;
#[path = "../support/mod.rs"]
mod support;
mod taking;
mod walls;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use client::Client;
use support::Session;

const AGENT: &str = include_str!("agent.py");
/// The prompt that is suggested after the first turn.
const NEXT: &str = "write it";

/// A user with a project, and an agent that does what a script says.
struct User {
    session: Session,
}

impl User {
    /// With an agent of this name.
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

    /// With an agent whose work can be taken over, where there are views.
    fn new(script: Value) -> Self {
        let user = Self::with_agent("claude-agent-acp", script);
        Self { session: user.session.variable("HEADSTART_SHADOW", "on") }
    }

    /// One to whom [`NEXT`] is suggested, for which this is done.
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

    /// A client that has said what it can.
    fn client(&self) -> Client {
        let mut client = self.start(&[], &["claude-agent-acp"]);
        let answer = client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        client
    }

    /// A client after its first turn, and its session.
    fn after_hello(&self) -> (Client, String) {
        let mut client = self.client();
        let session = client.open(&self.session);
        assert_eq!(client.said(&session, "hello"), "end_turn");
        (client, session)
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.session.workspace().join(path)).ok()
    }

    /// The sessions that the agent keeps.
    fn kept(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.session.home().join(".claude/projects")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> =
            names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }
}

/// What the agent does beside what its script says.
fn with(user: User, name: &str, value: Value) -> User {
    let path = user.session.home().join(".claude/script.json");
    let mut script: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    script[name] = value;
    std::fs::write(path, script.to_string()).unwrap();
    user
}

/// The words of answers that came since message number `from`.
fn words(client: &Client, from: usize) -> String {
    let updates =
        client.log[from..].iter().filter(|(own, _)| !own).map(|(_, message)| &message["params"]["update"]);
    let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// The sessions that an editor is shown.
fn listed(client: &mut Client) -> Vec<String> {
    let answer = client.request("session/list", json!({}));
    let sessions = answer["result"]["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
}
