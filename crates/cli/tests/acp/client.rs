//! A client that writes and reads lines, and keeps all messages.

#![allow(clippy::allow_attributes, reason = "every test binary uses another part of this")]
#![allow(dead_code, reason = "every test binary uses another part of this")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Session};

/// Whether a message is one that the program may send.
type Check = Box<dyn Fn(&Value) -> bool + Send + Sync>;

static CHECK: OnceLock<Check> = OnceLock::new();

/// Checks every message that any client reads from now on. A message that fails the check fails the test.
pub(crate) fn check_messages_with(check: Check) {
    assert!(CHECK.set(check).is_ok(), "it is set once");
}

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
    patience: Duration,
    /// Every message in order, with `true` if the client sent it.
    pub(crate) log: Vec<(bool, Value)>,
}

impl Client {
    /// Starts `headstart acp` with these arguments.
    pub(crate) fn start(session: &Session, arguments: &[&str]) -> Self {
        let all: Vec<_> = ["acp"].iter().chain(arguments).copied().collect();
        Self::of(session.command(&all))
    }

    /// Starts a command that speaks the protocol on its standard input and output.
    pub(crate) fn of(command: Command) -> Self {
        Self::with_errors(command, Stdio::null())
    }

    /// The same, with a place for what it writes to its standard error.
    pub(crate) fn with_errors(mut command: Command, errors: Stdio) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(errors).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, next: 0, patience: PATIENCE, log: Vec::new() }
    }

    /// Starts `headstart acp`, and says in `initialize` what the client can do.
    pub(crate) fn initialized(session: &Session, arguments: &[&str], can: Value) -> Self {
        let mut client = Self::start(session, arguments);
        let answer = client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": can }));
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        client
    }

    /// Sets how long to wait, for a program that takes longer than headstart does.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(crate) fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it still has an input");
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: Value) {
        self.write(&message.to_string());
        self.log.push((true, message));
    }

    /// Sends a request, and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The next message; `None` if none comes in this time.
    pub(crate) fn next_within(&mut self, patience: Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(patience).ok()?;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        assert!(CHECK.get().is_none_or(|check| check(&message)), "not of the protocol: {line}");
        self.log.push((false, message.clone()));
        Some(message)
    }

    /// Reads until a message fits, and returns it. `what` names it in the message of a failure.
    pub(crate) fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + self.patience;
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.next_within(left) {
                Some(message) if fits(&message) => return message,
                Some(_) => {}
                None => break,
            }
        }
        panic!("{what} does not come:\n{}", self.transcript());
    }

    pub(crate) fn answer_to(&mut self, id: i64) -> Value {
        self.until("an answer", |message| message["id"] == id && message.get("method").is_none())
    }

    /// Opens a session in the project, and returns its id.
    pub(crate) fn open(&mut self, session: &Session) -> String {
        let cwd = session.workspace().canonicalize().unwrap();
        let answer = self.request("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let id = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        self.until("the list of commands", |message| is_update(message, "available_commands_update"));
        id
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Sends a prompt, waits for its answer, and returns the reason why the turn stopped.
    pub(crate) fn said(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        let answer = self.answer_to(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Waits until `text` is suggested and, if a state is given, until the work ahead for it has this state.
    pub(crate) fn suggested(&mut self, text: &str, state: Option<&str>) {
        self.until(text, |message| {
            let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
            first["text"] == text && state.is_none_or(|state| first["_meta"]["headstart"]["state"] == state)
        });
        self.until("its command", |message| is_update(message, "available_commands_update"));
    }

    /// Waits for a question, answers it with this option, and returns the question.
    pub(crate) fn answer_question(&mut self, option: &str) -> Value {
        let question = self.until("a question", |message| message["method"] == "session/request_permission");
        let outcome = json!({ "outcome": "selected", "optionId": option });
        self.respond(&question, json!({ "outcome": outcome }));
        question
    }

    pub(crate) fn respond(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Hangs up, and returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.input = None;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not end when its input does");
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// All messages as text. Pieces of one answer are joined, and of several updates of a suggestion only the last is
    /// shown.
    pub(crate) fn transcript(&self) -> String {
        let mut told: Vec<(bool, Value)> = Vec::new();
        for (own, message) in &self.log {
            let update = &message["params"]["update"];
            let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
            let same = told.iter().rposition(|(_, before)| {
                let before = &before["params"]["update"];
                before["sessionUpdate"] == kind.as_str() && before["messageId"] == update["messageId"]
            });
            let mut message = message.clone();
            match (kind.as_str(), same) {
                // The state of a call in its first message and its further steps depend on timing, so they are left
                // out.
                ("tool_call_update", _) if update["status"] == "in_progress" => {}
                ("tool_call", _) => {
                    message["params"]["update"].as_object_mut().unwrap().shift_remove("status");
                    told.push((*own, message));
                }
                ("agent_message_chunk", Some(same)) if same + 1 == told.len() => {
                    let more = update["content"]["text"].as_str().unwrap();
                    let text = &mut told[same].1["params"]["update"]["content"]["text"];
                    *text = format!("{}{more}", text.as_str().unwrap()).into();
                }
                // A suggestion and the list of commands are sent together.
                ("session_info_update" | "available_commands_update", Some(same))
                    if same + 2 == told.len() && update.get("title").is_none() =>
                {
                    told.remove(same);
                    told.push((*own, message));
                }
                _ => told.push((*own, message)),
            }
        }
        let line = |(own, message): &(bool, Value)| {
            let mut message = message.clone();
            if let Some(Value::Array(commands)) = message.pointer_mut("/params/update/availableCommands") {
                for command in commands {
                    let (name, what) = (command["name"].clone(), command["description"].clone());
                    *command = if name == "next" { what } else { name };
                }
            }
            format!("{} {message}", if *own { "→" } else { "←" })
        };
        told.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The program may have ended already, so a failure is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn is_update(message: &Value, kind: &str) -> bool {
    message["params"]["update"]["sessionUpdate"] == kind
}
