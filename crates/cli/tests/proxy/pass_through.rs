//! Holds for five products, which `.ci/install hosts` installs next to the build, that an agent reads and writes
//! exactly what the editor writes and reads.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use super::{NEXT, PATIENCE};
use crate::support::server::{
    Request, ScriptedResponse, Server, StreamStep, calls, messages_call, messages_say, responses_call,
    responses_say, says,
};
use crate::support::{Session, installed};

const SHIM: &str = include_str!("shim.py");
const EXCHANGES: usize = 100;
/// A product: the name of the shim that starts it, and its command line.
struct Product {
    name: &'static str,
    program: &'static str,
    is_script: bool,
    arguments: &'static [&'static str],
}

const PRODUCTS: [Product; 5] = [
    Product {
        name: "claude-agent-acp",
        program: "@agentclientprotocol/claude-agent-acp/dist/index.js",
        is_script: true,
        arguments: &[],
    },
    Product {
        name: "codex-acp",
        program: "@agentclientprotocol/codex-acp/dist/index.js",
        is_script: true,
        arguments: &[],
    },
    Product {
        name: "opencode",
        program: "opencode-linux-x64/bin/opencode",
        is_script: false,
        arguments: &["acp"],
    },
    Product {
        name: "qwen",
        program: "@qwen-code/qwen-code/cli-entry.js",
        is_script: true,
        arguments: &["--acp", "--auth-type", "openai"],
    },
    Product {
        name: "gemini",
        program: "@google/gemini-cli/bundle/gemini.js",
        is_script: true,
        arguments: &["--acp"],
    },
];

/// A model with the APIs of four providers. It greets, and calls a shell once if it is told to.
fn model() -> Server {
    Server::answering(|request| {
        let not_there =
            ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        if request.body.is_empty() {
            return not_there;
        }
        let body = request.json();
        let text = body.to_string();
        let is_done = ["\"tool_result\"", "function_call_output", "\"role\":\"tool\"", "functionResponse"];
        let acts = text.contains("please do it")
            && body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
            && !is_done.iter().any(|mark| text.contains(mark));
        let said = if text.contains("A question from the program") {
            json!({ "suggestion": NEXT }).to_string()
        } else {
            "Hello there, \u{1f600}.".to_owned()
        };
        let shell = json!({ "command": "ls", "description": "to see" });
        let is_qwen = text.contains("\"run_shell_command\"");
        match request {
            Request { head, .. } if head.contains("/messages") && acts => {
                messages_call("toolu_1", "Bash", &shell)
            }
            Request { head, .. } if head.contains("/messages") => messages_say(&said),
            Request { head, .. } if head.contains("/responses") && acts => {
                responses_call("exec_command", &json!({ "cmd": "ls" }))
            }
            Request { head, .. } if head.contains("/responses") => responses_say(&said),
            Request { head, .. } if head.contains("/chat/completions") && acts => {
                calls(&[(if is_qwen { "run_shell_command" } else { "bash" }, shell)])
            }
            Request { head, .. } if head.contains("/chat/completions") => says(&said),
            Request { head, .. } if head.contains(":streamGenerateContent") => {
                let part = if acts {
                    json!({ "functionCall": { "name": "run_shell_command", "args": shell } })
                } else {
                    json!({ "text": said })
                };
                ScriptedResponse::Stream(vec![StreamStep::Data(of_gemini(&part).to_string())])
            }
            Request { head, .. } if head.contains(":generateContent") => {
                let body = of_gemini(&json!({ "text": "{}" })).to_string();
                ScriptedResponse::Whole {
                    status: "200 OK",
                    headers: "content-type: application/json\r\n",
                    body,
                }
            }
            _ => not_there,
        }
    })
}

fn of_gemini(part: &Value) -> Value {
    let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 });
    let content = json!({ "role": "model", "parts": [part] });
    json!({ "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }], "usageMetadata": usage })
}

/// A user of the product with this model.
fn user(model: &Server, product: &Product) -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    session.configure_opencode(&model.base_url, &json!({}));
    session.configure_codex(&model.base_url, "");
    session.write(&format!("home/bin/{}", product.name), SHIM);
    let shim = session.home().join("bin").join(product.name);
    fs::set_permissions(&shim, PermissionsExt::from_mode(0o755)).unwrap();
    let mut agent = vec![installed(product.program).display().to_string()];
    if product.is_script {
        agent.insert(0, installed("node/bin/node").display().to_string());
    }
    agent.extend(product.arguments.iter().map(|argument| (*argument).to_owned()));
    let path =
        format!("{}:{}:/usr/bin:/bin", session.home().join("bin").display(), installed("node/bin").display());
    let (root, log) =
        (model.base_url.trim_end_matches("/v1"), session.home().join("passed").display().to_string());
    [
        ("PATH", path.as_str()),
        ("SHELL", "/bin/bash"),
        ("AGENT", &agent.join("\n")),
        ("AGENT_LOG", &log),
        ("ANTHROPIC_BASE_URL", root),
        ("ANTHROPIC_API_KEY", "none"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("NO_BROWSER", "1"),
        ("OPENAI_API_KEY", "none"),
        ("OPENAI_BASE_URL", &model.base_url),
        ("OPENAI_MODEL", "scripted"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("GEMINI_API_KEY", "none"),
        ("GOOGLE_GEMINI_BASE_URL", root),
    ]
    .into_iter()
    .fold(session, |session, (name, value)| session.variable(name, value))
}

/// An editor that keeps each line exactly as it was written or read.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
    next: usize,
}

impl Editor {
    fn start(session: &Session, product: &Product, arguments: &[&str]) -> Self {
        let words: &[&str] = if product.name == "opencode" { &["acp"] } else { &[] };
        let all: Vec<_> = ["acp-proxy"]
            .iter()
            .chain(arguments)
            .chain(&["--", product.name])
            .chain(words)
            .copied()
            .collect();
        let mut command = session.command(&all);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| 0 < read) {
                if tell.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, sent: Vec::new(), received: Vec::new(), next: 0 }
    }

    fn write(&mut self, line: String) {
        let line = (line + "\n").into_bytes();
        self.input.as_mut().unwrap().write_all(&line).unwrap();
        self.sent.push(line);
    }

    /// Sends a request with these parameters exactly as they are written, and waits for its answer.
    fn ask(&mut self, method: &str, params: &str) -> Value {
        self.next += 1;
        let id = self.next;
        self.write(format!(r#"{{"method":"{method}" , "id":{id},"params":{params}, "jsonrpc":"2.0"}}"#));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|error| panic!("{method} {params}: {error}"));
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            self.received.push(line);
            if message["method"] == "session/request_permission" {
                let options = message["params"]["options"].as_array().unwrap();
                let option = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
                let outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
                let answer =
                    json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "outcome": outcome } });
                self.write(answer.to_string());
            } else if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Hangs up, and reads everything that is still sent. Returns the lines that were sent and received.
    fn end(mut self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        self.input = None;
        self.received.extend(self.lines.iter());
        let _ = self.child.wait().unwrap();
        (self.sent, self.received)
    }
}

/// Sends an agent a hundred requests, most of which no agent knows. Returns the id of the session and the lines that
/// were sent and received.
fn exchange(
    session: &Session,
    product: &Product,
    arguments: &[&str],
) -> (String, Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut editor = Editor::start(session, product, arguments);
    editor.ask(
        "initialize",
        r#"{"protocolVersion":1,"clientCapabilities":{},"_meta":{"odd":[1.0,{},"\u0061"]}}"#,
    );
    if product.name == "gemini" {
        editor.ask("authenticate", r#"{"methodId":"gemini-api-key"}"#);
    }
    let cwd = session.workspace().canonicalize().unwrap();
    let opened = editor.ask("session/new", &json!({ "cwd": cwd, "mcpServers": [] }).to_string());
    let id = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    let mut prompts = 0;
    while editor.next < EXCHANGES {
        match editor.next % 12 {
            0 => {
                let words = if prompts == 1 { "please do it" } else { "hello" };
                prompts += 1;
                let prompt = format!(
                    r#"{{ "sessionId":"{id}","prompt":[{{"type":"text","text":"{words} \ud83d\ude00"}}],"_meta":{{"x":[ ]}} }}"#
                );
                let answer = editor.ask("session/prompt", &prompt);
                assert_eq!(answer["result"]["stopReason"], "end_turn", "{}: {answer}", product.name);
            }
            1 => drop(
                editor.ask("session/set_mode", &format!(r#"{{"sessionId":"{id}","modeId":"no such mode"}}"#)),
            ),
            2 => editor.write(format!(
                r#"{{"jsonrpc":"2.0","method":"_vendor/told","params":{{"sessionId":"{id}"}}}}"#
            )),
            3 if arguments.contains(&"off") => drop(editor.ask("session/list", "{}")),
            _ => {}
        }
        let odd = r#"{"a" : 1.0,"b":1e3,"z":12345678901234567890,"\u0061":"\ud83d\ude00","_meta":{"x":[ ]}}"#;
        editor.ask("_vendor/echo", odd);
    }
    let (sent, received) = editor.end();
    (id, sent, received)
}

/// The lines that the shim wrote down.
fn recorded_lines(session: &Session, way: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(session.home().join(format!("passed{way}"))).unwrap();
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Whether a line is one that the proxy adds when it makes suggestions: its own requests, their answers, messages about
/// its forks, and the display of a suggestion.
fn is_proxys_own(line: &[u8], session: &str) -> bool {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    let (params, update) = (&message["params"], &message["params"]["update"]);
    message["id"].as_str().is_some_and(|id| id.starts_with("headstart:"))
        || params["sessionId"].as_str().is_some_and(|id| id != session)
        || update["sessionUpdate"] == "available_commands_update"
        || update["_meta"].get("promptSuggestions").is_some()
}

fn differences(name: &str, written: &[Vec<u8>], read: &[Vec<u8>]) {
    for (number, (written, read)) in written.iter().zip(read).enumerate() {
        let (written, read) = (String::from_utf8_lossy(written), String::from_utf8_lossy(read));
        assert_eq!(written, read, "{name}, line {number}");
    }
    assert_eq!(written.len(), read.len(), "{name}");
}

#[test]
#[ignore = "needs five agents; .ci/long installs them"]
fn a_hundred_exchanges_with_five_products_pass_byte_for_byte() {
    for product in &PRODUCTS {
        for arguments in [&["--suggestions", "off"][..], &[]] {
            let model = model();
            let session = user(&model, product);
            let (id, mut sent, mut received) = exchange(&session, product, arguments);
            let (mut heard, mut said) = (recorded_lines(&session, "-in"), recorded_lines(&session, "-out"));
            if arguments.is_empty() {
                for lines in [&mut sent, &mut received, &mut heard, &mut said] {
                    lines.retain(|line| !is_proxys_own(line, &id));
                }
            }
            assert!(EXCHANGES <= sent.len() && EXCHANGES <= received.len(), "{}", sent.len());
            differences(product.name, &sent, &heard);
            differences(product.name, &said, &received);
            println!("{} {arguments:?}: {} lines there, {} back", product.name, sent.len(), received.len());
        }
    }
}
