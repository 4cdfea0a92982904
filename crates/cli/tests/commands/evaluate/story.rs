//! One conversation as each product writes it. The fields are those of files that the products wrote; `products.rs`
//! compares them with the products.

use serde_json::{Value, json};

/// A prompt, the seconds from the previous answer to it, and the seconds that its turn took.
pub(crate) type StoryTurn = (&'static str, u64, u64);

/// The turns of the story; the first one calls two tools.
pub(crate) const STORY: [StoryTurn; 5] = [
    ("look at the files", 0, 5),
    ("run the tests", 60, 40),
    ("commit this", 90, 20),
    ("what does it do?", 7_200, 12),
    ("ok", 60, 35),
];

const ANSWER: &str = "Two files are there.";
/// The time when the story began, in seconds since the Unix epoch: 2026-03-01, at noon.
const BEGAN: u64 = 1_772_366_400;
/// What a tool found although it should not have: a token in the form in which a service makes them.
pub(crate) fn secret() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    ClaudeCode,
    QwenCode,
    Codex,
    GeminiCli,
    GeminiCliWhole,
    OpenCode,
    Headstart,
}

impl Format {
    pub(crate) const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::QwenCode,
        Self::Codex,
        Self::GeminiCli,
        Self::GeminiCliWhole,
        Self::OpenCode,
        Self::Headstart,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::QwenCode => "qwen-code",
            Self::Codex => "codex",
            Self::GeminiCli | Self::GeminiCliWhole => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::Headstart => "headstart",
        }
    }

    pub(crate) fn place(self) -> &'static str {
        match self {
            Self::ClaudeCode => "home/.claude/projects/-p/0a1b.jsonl",
            Self::QwenCode => "home/.qwen/projects/-p/chats/0a1b.jsonl",
            Self::Codex => "home/.codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-0a1b.jsonl",
            Self::GeminiCli => "home/.gemini/tmp/p/chats/session-2026-03-01T12-00-0a1b.jsonl",
            Self::GeminiCliWhole => "home/.gemini/tmp/p/chats/session-2026-03-01T12-00-0a1b.json",
            Self::OpenCode => "home/exported.json",
            Self::Headstart => "home/.local/state/headstart/sessions/p-0a1b/k3v9.jsonl",
        }
    }

    /// Whether files of the product say what a turn cost.
    pub(crate) fn tells_costs(self) -> bool {
        self != Self::Headstart
    }
}

/// An event of the story.
enum StoryEvent<'a> {
    Prompt(&'a str),
    /// A text with two calls, and their results.
    Calls,
    Answer,
    /// The user takes back everything from this prompt on; prompts are counted from 0.
    Back(usize),
}

/// The lines of a session file.
pub(crate) fn lines(format: Format, story: &[StoryTurn]) -> String {
    let mut now = BEGAN;
    let mut told = Vec::new();
    for (number, (prompt, waited, took)) in story.iter().enumerate() {
        now += waited;
        told.push((now, StoryEvent::Prompt(prompt)));
        if number == 0 {
            told.push((now + took / 2, StoryEvent::Calls));
        }
        now += took;
        told.push((now, StoryEvent::Answer));
    }
    write(format, &told)
}

/// A conversation in which one turn was taken back.
pub(crate) fn taken_back(format: Format) -> String {
    let told = [
        StoryEvent::Prompt("look at the files"),
        StoryEvent::Calls,
        StoryEvent::Answer,
        StoryEvent::Prompt("a slip of mine"),
        StoryEvent::Answer,
        StoryEvent::Back(1),
        StoryEvent::Prompt("run the tests"),
        StoryEvent::Answer,
    ];
    let told: Vec<_> = told.into_iter().enumerate().map(|(step, told)| (BEGAN + step as u64, told)).collect();
    write(format, &told)
}

/// A time in the text form that products write; `seconds` counts from the Unix epoch.
fn stamp(seconds: u64) -> String {
    let of_day = seconds % 86_400;
    assert_eq!(seconds / 86_400, BEGAN / 86_400, "the story is of one day");
    format!("2026-03-01T{:02}:{:02}:{:02}.000Z", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

fn write(format: Format, told: &[(u64, StoryEvent<'_>)]) -> String {
    let values = match format {
        Format::ClaudeCode => claude_code(told),
        Format::QwenCode => qwen_code(told),
        Format::Codex => codex(told),
        Format::GeminiCli => gemini_cli(told),
        Format::GeminiCliWhole => {
            let messages: Vec<_> =
                gemini_cli(told).into_iter().skip(1).filter(|line| line["id"].is_string()).collect();
            let whole = json!({ "sessionId": "0a1b", "projectHash": "00ff", "startTime": stamp(BEGAN), "messages": messages });
            return serde_json::to_string_pretty(&whole).unwrap();
        }
        Format::OpenCode => return serde_json::to_string_pretty(&opencode(told)).unwrap(),
        Format::Headstart => headstart(told),
    };
    values.iter().fold(String::new(), |lines, value| lines + &value.to_string() + "\n")
}

/// The ids of lines, each of which names the line before it, and for each prompt the line after which it stands.
#[derive(Default)]
struct Chain {
    number: usize,
    last: Option<String>,
    prompts: Vec<Option<String>>,
}

impl Chain {
    fn next(&mut self) -> (String, Option<String>) {
        self.number += 1;
        let id = format!("line-{}", self.number);
        let before = self.last.replace(id.clone());
        (id, before)
    }

    fn prompt(&mut self) -> (String, Option<String>) {
        self.prompts.push(self.last.clone());
        self.next()
    }

    fn back(&mut self, to: usize) {
        self.last = self.prompts[to].clone();
        self.prompts.truncate(to);
    }
}

fn with(mut value: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("fields") };
    value.as_object_mut().unwrap().extend(fields);
    value
}

fn claude_code(told: &[(u64, StoryEvent<'_>)]) -> Vec<Value> {
    let mut chain = Chain::default();
    let mut lines = vec![
        json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": "0a1b", "content": "look at the files" }),
    ];
    let usage = json!({ "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 900, "output_tokens": 5 });
    for (at, told) in told {
        let line = |(uuid, before): (String, Option<String>), kind: &str, message: Value| {
            json!({ "parentUuid": before, "isSidechain": false, "type": kind, "message": message, "uuid": uuid,
                "timestamp": stamp(*at), "userType": "external", "cwd": "/p", "sessionId": "0a1b", "version": "2.1.330" })
        };
        let says = |block: Value, id: String| json!({ "id": id, "type": "message", "role": "assistant", "model": "m", "content": [block], "usage": usage });
        match told {
            StoryEvent::Prompt(prompt) => {
                let message = json!({ "role": "user", "content": prompt });
                lines.push(with(line(chain.prompt(), "user", message), json!({ "promptSource": "typed" })));
                let (id, before) = chain.next();
                lines.push(json!({ "parentUuid": before, "isSidechain": false, "type": "attachment", "uuid": id,
                    "attachment": { "type": "date", "date": "2026-03-01" }, "timestamp": stamp(*at), "sessionId": "0a1b" }));
            }
            StoryEvent::Calls => {
                let id = format!("msg_{}", chain.number);
                lines.push(line(
                    chain.next(),
                    "assistant",
                    says(json!({ "type": "text", "text": "Let me see." }), id.clone()),
                ));
                for (call, file) in [("toolu_1", "a.txt"), ("toolu_2", "b.txt")] {
                    let block = json!({ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": format!("cat {file}") } });
                    lines.push(line(chain.next(), "assistant", says(block, id.clone())));
                }
                for (call, output) in [("toolu_1", "one"), ("toolu_2", &secret())] {
                    let block = json!({ "tool_use_id": call, "type": "tool_result", "content": output, "is_error": false });
                    lines.push(line(chain.next(), "user", json!({ "role": "user", "content": [block] })));
                }
                // What a subagent does is not part of the conversation.
                let beside = line(
                    ("side".to_owned(), None),
                    "user",
                    json!({ "role": "user", "content": "look closer" }),
                );
                lines.push(with(beside, json!({ "isSidechain": true })));
            }
            StoryEvent::Answer => {
                let id = format!("msg_{}", chain.number);
                lines.push(line(
                    chain.next(),
                    "assistant",
                    says(json!({ "type": "text", "text": ANSWER }), id),
                ));
                let (id, before) = chain.next();
                lines.push(json!({ "parentUuid": before, "isSidechain": false, "type": "system", "subtype": "turn_duration",
                    "durationMs": 1, "uuid": id, "timestamp": stamp(*at), "sessionId": "0a1b" }));
                let meta = line(
                    chain.next(),
                    "user",
                    json!({ "role": "user", "content": "<local-command-stdout>ok</local-command-stdout>" }),
                );
                lines.push(with(meta, json!({ "isMeta": true })));
            }
            StoryEvent::Back(to) => chain.back(*to),
        }
    }
    lines
}

fn qwen_code(told: &[(u64, StoryEvent<'_>)]) -> Vec<Value> {
    let mut chain = Chain::default();
    let mut lines = Vec::new();
    let usage = json!({ "promptTokenCount": 930, "candidatesTokenCount": 5, "thoughtsTokenCount": 0, "totalTokenCount": 935, "cachedContentTokenCount": 900 });
    for (at, told) in told {
        let line = |(uuid, before): (String, Option<String>), kind: &str, role: &str, parts: Value| {
            json!({ "uuid": uuid, "parentUuid": before, "sessionId": "0a1b", "timestamp": stamp(*at), "type": kind,
                "cwd": "/p", "version": "0.24.4", "message": { "role": role, "parts": parts } })
        };
        match told {
            StoryEvent::Prompt(prompt) => {
                let prompt = line(chain.prompt(), "user", "user", json!([{ "text": prompt }]));
                lines.push(with(prompt, json!({ "provenance": "real_user" })));
                let (id, before) = chain.next();
                lines.push(json!({ "uuid": id, "parentUuid": before, "sessionId": "0a1b", "timestamp": stamp(*at), "type": "system",
                    "subtype": "ui_telemetry", "systemPayload": {} }));
            }
            StoryEvent::Calls => {
                let call = |id: &str, file: &str| json!({ "functionCall": { "id": id, "name": "run_shell_command", "args": { "command": format!("cat {file}") } } });
                let parts = json!([{ "text": "hm", "thought": true }, { "text": "Let me see." }, call("call_0", "a.txt"), call("call_1", "b.txt")]);
                lines.push(with(
                    line(chain.next(), "assistant", "model", parts),
                    json!({ "model": "m", "usageMetadata": usage }),
                ));
                for (call, output) in [("call_0", "one"), ("call_1", &secret())] {
                    let answer = json!([{ "functionResponse": { "id": call, "name": "run_shell_command", "response": { "output": output } } }]);
                    lines.push(line(chain.next(), "tool_result", "user", answer));
                }
            }
            StoryEvent::Answer => {
                let parts = json!([{ "text": ANSWER }]);
                lines.push(with(
                    line(chain.next(), "assistant", "model", parts),
                    json!({ "usageMetadata": usage }),
                ));
            }
            StoryEvent::Back(to) => chain.back(*to),
        }
    }
    lines
}

fn codex(told: &[(u64, StoryEvent<'_>)]) -> Vec<Value> {
    let line = |at: u64, kind: &str, payload: Value| json!({ "timestamp": stamp(at), "type": kind, "payload": payload });
    let says = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let mut lines = vec![
        line(
            BEGAN,
            "session_meta",
            json!({ "id": "0a1b", "cwd": "/p", "cli_version": "0.169.0", "source": "cli" }),
        ),
        line(
            BEGAN,
            "response_item",
            says("developer", "input_text", "<skills_instructions>none</skills_instructions>"),
        ),
        line(
            BEGAN,
            "response_item",
            says("user", "input_text", "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
        ),
    ];
    let counted = json!({ "input_tokens": 930, "cached_input_tokens": 900, "cache_write_input_tokens": 0, "output_tokens": 5 });
    let mut prompts = 0;
    for (at, told) in told {
        let mut push = |kind: &str, payload: Value| lines.push(line(*at, kind, payload));
        let mut cost = false;
        match told {
            StoryEvent::Prompt(prompt) => {
                prompts += 1;
                push("turn_context", json!({ "cwd": "/p", "model": "m" }));
                push("response_item", says("user", "input_text", prompt));
            }
            StoryEvent::Calls => {
                push(
                    "response_item",
                    json!({ "type": "reasoning", "summary": [], "encrypted_content": "x" }),
                );
                push("response_item", says("assistant", "output_text", "Let me see."));
                for (call, file) in [("call_1", "a.txt"), ("call_2", "b.txt")] {
                    let arguments = json!({ "cmd": format!("cat {file}") }).to_string();
                    push(
                        "response_item",
                        json!({ "type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call }),
                    );
                }
                for (call, output) in [("call_1", "one"), ("call_2", &secret())] {
                    push(
                        "response_item",
                        json!({ "type": "function_call_output", "call_id": call, "output": output }),
                    );
                }
                cost = true;
            }
            StoryEvent::Answer => {
                push("response_item", says("assistant", "output_text", ANSWER));
                cost = true;
            }
            StoryEvent::Back(to) => {
                push("event_msg", json!({ "type": "thread_rolled_back", "num_turns": prompts - to }));
                prompts = *to;
            }
        }
        if cost {
            push("event_msg", json!({ "type": "token_count", "info": { "last_token_usage": counted } }));
        }
    }
    lines
}

fn gemini_cli(told: &[(u64, StoryEvent<'_>)]) -> Vec<Value> {
    let message = |number: usize, at: u64, kind: &str, content: Value| json!({ "id": format!("message-{number}"), "timestamp": stamp(at), "type": kind, "content": content });
    let context = message(
        0,
        BEGAN,
        "user",
        json!([{ "text": "<session_context>\nThis is the Gemini CLI.\n</session_context>" }]),
    );
    let mut lines = vec![
        json!({ "sessionId": "0a1b", "projectHash": "00ff", "startTime": stamp(BEGAN), "lastUpdated": stamp(BEGAN), "kind": "main" }),
        json!({ "$set": { "messages": [context] } }),
    ];
    let tokens = json!({ "tokens": { "input": 930, "output": 5, "cached": 900, "thoughts": 0, "tool": 0, "total": 935 } });
    let mut prompts = Vec::new();
    for (number, (at, told)) in told.iter().enumerate() {
        let number = number + 1;
        match told {
            StoryEvent::Prompt(prompt) => {
                prompts.push(format!("message-{number}"));
                lines.push(message(number, *at, "user", json!([{ "text": prompt }])));
                lines.push(json!({ "$set": { "lastUpdated": stamp(*at) } }));
            }
            StoryEvent::Calls => {
                let answer = with(message(number, *at, "gemini", json!("Let me see.")), tokens.clone());
                lines.push(answer.clone());
                let result = |id: &str, output: &str| json!([{ "functionResponse": { "id": id, "name": "run_shell_command", "response": { "output": output } } }]);
                let call = |id: &str, file: &str, output: &str| {
                    json!({ "id": id, "name": "run_shell_command", "args": { "command": format!("cat {file}") }, "result": result(id, output),
                        "status": "success", "timestamp": stamp(*at) })
                };
                let calls = json!([call("run_0", "a.txt", "one"), call("run_1", "b.txt", &secret())]);
                // The same message is written again with the calls in it, followed by what the model was sent.
                lines.push(with(answer, json!({ "toolCalls": calls })));
                let sent = [result("run_0", "one"), result("run_1", &secret())].map(|one| one[0].clone());
                lines.push(with(
                    message(number, *at, "user", json!(sent)),
                    json!({ "id": format!("message-{number}-sent") }),
                ));
            }
            StoryEvent::Answer => {
                lines.push(with(message(number, *at, "gemini", json!(ANSWER)), tokens.clone()));
            }
            StoryEvent::Back(to) => {
                lines.push(json!({ "$rewindTo": prompts[*to] }));
                prompts.truncate(*to);
            }
        }
    }
    lines
}

/// Messages that a user took back stay in the file until the next prompt replaces them.
fn opencode(told: &[(u64, StoryEvent<'_>)]) -> Value {
    let tokens = json!({ "total": 935, "input": 30, "output": 5, "reasoning": 0, "cache": { "read": 900, "write": 0 } });
    let mut messages: Vec<Value> = Vec::new();
    let mut prompts = Vec::new();
    for (number, (at, told)) in told.iter().enumerate() {
        let at = at * 1_000;
        let id = format!("msg_{number}");
        let text = |words: &str| json!({ "type": "text", "text": words, "id": format!("prt_{number}"), "messageID": id });
        let answer = |parts: Value| {
            let info = json!({ "role": "assistant", "mode": "build", "time": { "created": at, "completed": at }, "tokens": tokens, "finish": "stop", "id": id });
            json!({ "info": info, "parts": parts })
        };
        match told {
            StoryEvent::Prompt(prompt) => {
                prompts.push(messages.len());
                let beside = with(
                    text("Called the Read tool with the following input: {}"),
                    json!({ "synthetic": true }),
                );
                let info = json!({ "role": "user", "time": { "created": at }, "agent": "build", "id": id });
                messages.push(json!({ "info": info, "parts": [text(prompt), beside] }));
            }
            StoryEvent::Calls => {
                let call = |id: &str, file: &str, output: &str| {
                    let state = json!({ "status": "completed", "input": { "command": format!("cat {file}") }, "output": output, "time": { "start": at, "end": at } });
                    json!({ "type": "tool", "tool": "bash", "callID": id, "state": state })
                };
                let parts = json!([{ "type": "step-start" }, text("Let me see."), call("call_1", "a.txt", "one"), call("call_2", "b.txt", &secret()), { "type": "step-finish", "tokens": tokens }]);
                messages.push(answer(parts));
            }
            StoryEvent::Answer => messages.push(answer(json!([{ "type": "step-start" }, text(ANSWER)]))),
            StoryEvent::Back(to) => {
                messages.truncate(prompts[*to]);
                prompts.truncate(*to);
            }
        }
    }
    let info = json!({ "id": "ses_0a1b", "directory": "/p", "title": "look", "version": "1.18.33", "time": { "created": BEGAN * 1_000 } });
    json!({ "info": info, "messages": messages })
}

fn headstart(told: &[(u64, StoryEvent<'_>)]) -> Vec<Value> {
    let message =
        |role: &str, parts: Value| json!({ "type": "message", "message": { "role": role, "parts": parts } });
    let mut lines = vec![
        json!({ "type": "session", "version": 1, "id": "k3v9", "title": "look", "model": "m", "created": BEGAN * 1_000 }),
    ];
    let mut prompt = 0;
    for (at, told) in told {
        match told {
            StoryEvent::Prompt(text) => {
                prompt = lines.len();
                lines.push(json!({ "type": "prompt", "text": text, "at": at * 1_000 }));
                lines.push(message("user", json!([{ "type": "text", "text": text }])));
            }
            StoryEvent::Calls => {
                let call = |id: &str, file: &str| json!({ "type": "toolCall", "id": id, "name": "shell", "args": { "command": format!("cat {file}") } });
                lines.push(message("model", json!([{ "type": "text", "text": "Let me see." }, call("1", "a.txt"), call("2", "b.txt")])));
                let result = |id: &str, output: &str| json!({ "type": "toolResult", "id": id, "name": "shell", "output": output });
                lines.push(message("tool", json!([result("1", "one"), result("2", &secret())])));
            }
            StoryEvent::Answer => {
                lines.push(message("model", json!([{ "type": "text", "text": ANSWER }])));
                lines[prompt]["ended"] = json!(at * 1_000);
            }
            StoryEvent::Back(_) => panic!("a chat takes nothing back"),
        }
    }
    lines
}
