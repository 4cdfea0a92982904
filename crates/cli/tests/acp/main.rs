//! Holds how `headstart acp` answers a client that reads and writes plain lines, without a library of the protocol.
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

mod bad_input;
mod client;
mod figures;
#[cfg(unix)]
mod hostile;
mod new_rules;
mod products;
mod sessions;
mod staged;
mod stories;
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};

use client::Client;
use support::Session;

/// A user with a project, and with a model that plays a recording.
struct User {
    session: Session,
    turns: Vec<Value>,
    suggestions: Vec<String>,
}

impl User {
    fn new() -> Self {
        let session = Session::new();
        session.write("project/notes.txt", "one\n");
        Self { session, turns: Vec::new(), suggestions: Vec::new() }
    }

    /// A user whose first turn reads a file and answers `First answer.`; then `add tests` is suggested as the next
    /// prompt.
    fn with_suggestion() -> Self {
        let look = json!({ "file_path": "notes.txt" });
        Self::new().calls("read_file", look).says("First answer.").suggests("add tests")
    }

    fn says(self, text: &str) -> Self {
        self.turn(0, text, None)
    }

    fn calls(self, name: &str, args: Value) -> Self {
        self.turn(0, "", Some((name, args)))
    }

    fn writes(self, path: &str, content: &str) -> Self {
        self.calls("write_file", json!({ "file_path": path, "content": content }))
    }

    fn turn(mut self, delay: u64, text: &str, call: Option<(&str, Value)>) -> Self {
        let calls: Vec<_> = call.iter().map(|(name, args)| json!({ "name": name, "args": args })).collect();
        self.turns.push(json!({ "text": text, "toolCalls": calls, "delayMs": delay }));
        self
    }

    fn suggests(mut self, text: &str) -> Self {
        self.suggestions.push(text.to_owned());
        self
    }

    fn model(&self) -> String {
        let recording = json!({ "turns": self.turns, "suggestions": self.suggestions });
        self.session.write("home/recording.json", recording.to_string());
        format!("replay:{}", self.session.home().join("recording.json").display())
    }

    /// A client that has told the agent what it can do.
    fn client_that(&self, can: Value, mode: &str) -> Client {
        let model = self.model();
        Client::initialized(&self.session, &["--model", &model, "--mode", mode], can)
    }

    fn client(&self, mode: &str) -> Client {
        self.client_that(json!({}), mode)
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.session.workspace().join(path)).ok()
    }

    /// All messages of a session, without what differs from run to run.
    fn session_updates(&mut self, client: &Client, session: &str) -> String {
        self.session.name("session", session);
        let text = client.transcript();
        // Only one story, the one that says `Hello there.`, shows how a session begins; the others leave that part out.
        let text = match text.split_once("\n→ {\"jsonrpc\":\"2.0\",\"id\":3,") {
            Some((_, rest)) if !rest.contains("Hello there.") => {
                format!("→ {{\"jsonrpc\":\"2.0\",\"id\":3,{rest}")
            }
            _ => text,
        };
        let text = self.session.redact(&text);
        text.replace(env!("CARGO_PKG_VERSION"), "[version]")
    }
}
