//! Runs claude-agent-acp itself, which `.ci/install hosts` installs next to the build, with a scripted model. Nothing
//! of this leaves the machine, and the product sees no home but an empty one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{NEXT, answer_kind, assert_nothing_is_left, list_sessions};
use crate::client::Client;
use crate::support::server::{Request, ScriptedResponse, Server, messages_call, messages_say};
use crate::support::{Session, installed};

/// The last text of the user in a request, and the number of results of tools that follow it.
fn last_user_text(body: &Value) -> (String, usize) {
    let (mut text, mut results) = (String::new(), 0);
    for message in
        body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user")
    {
        let parts = message["content"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![json!({ "type": "text", "text": message["content"] })]);
        let found = parts.iter().filter(|part| part["type"] == "tool_result").count();
        let words: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        if 0 < found {
            results += found;
        } else if !words.is_empty() {
            (text, results) = (words, 0);
        }
    }
    (text, results)
}

/// A text in a prompt, and the calls that the model makes for it, one after another.
type Work = (&'static str, Vec<(&'static str, Value)>);

/// A model that suggests [`NEXT`], and makes the calls that are given for a prompt.
fn model(work: Vec<Work>) -> Server {
    let calls = AtomicUsize::new(0);
    Server::answering(move |request| {
        if !request.head.contains("/messages") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let (text, done) = last_user_text(&request.json());
        if text.contains("A question from the program") {
            return messages_say(&json!({ "suggestion": NEXT }).to_string());
        }
        if text.contains("SUGGESTION MODE") {
            return messages_say("run the tests");
        }
        let Some((_, work)) = work.iter().find(|(words, _)| text.contains(words)) else {
            return messages_say("Hello there.");
        };
        match work.get(done) {
            Some((tool, input)) => {
                let number = calls.fetch_add(1, Ordering::Relaxed);
                messages_call(&format!("toolu_{number}"), tool, input)
            }
            None => messages_say("It is made."),
        }
    })
}

fn command(line: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": line, "description": "to see" }))
}

/// A user of the product with a project.
fn user() -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    session
        .variable("PATH", &format!("{}:/usr/bin:/bin", installed("node/bin").display()))
        .variable("SHELL", "/bin/bash")
        .variable("ANTHROPIC_API_KEY", "none")
        .variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .variable("DISABLE_AUTOUPDATER", "1")
}

/// An editor that has opened a session, and the id of the session.
fn open_session(session: &Session, arguments: &[&str]) -> (Client, String) {
    let program = installed("@agentclientprotocol/claude-agent-acp/dist/index.js").display().to_string();
    let node = installed("node/bin/node").display().to_string();
    super::open_session(session, arguments, &[&node, &program])
}

/// Like [`opened`], after two turns with this model.
fn after_two_turns(session: Session, model: &Server) -> (Session, Client, String) {
    let session = session.variable("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1"));
    let (mut client, id) = open_session(&session, &[]);
    client.request("session/set_mode", json!({ "sessionId": id, "modeId": "default" }));
    assert_eq!(client.said(&id, "hello"), "end_turn");
    assert_eq!(client.said(&id, "hello again"), "end_turn");
    (session, client, id)
}

/// The requests of turns, which offer tools, for a text. The marks where a provider's cache is to begin are removed.
fn turns(model: &Server, words: &str) -> Vec<Value> {
    fn remove_volatile_fields(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(remove_volatile_fields);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(remove_volatile_fields);
        }
    }
    let requests = model.requests();
    let bodies = requests.iter().filter(|request| request.head.contains("/messages")).map(Request::json);
    let turns = bodies.filter(|body| {
        body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
            && last_user_text(body).0.contains(words)
    });
    turns
        .map(|mut body| {
            remove_volatile_fields(&mut body);
            body
        })
        .collect()
}

/// The results of tools in a request.
fn results(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
    parts.filter(|part| part["type"] == "tool_result").cloned().collect()
}

fn begins_with(request: &Value, before: &Value) {
    let history = before["messages"].as_array().unwrap();
    assert_eq!((&request["system"], &request["tools"]), (&before["system"], &before["tools"]));
    assert_eq!(&request["messages"].as_array().unwrap()[..history.len()], &history[..]);
}

#[test]
#[ignore = "needs claude-agent-acp; .ci/long installs it"]
fn claude_agent_acp_works_ahead_and_its_work_is_taken() {
    let session = user();
    let made = session.workspace().canonicalize().unwrap().join("made.txt");
    let model = model(vec![
        (
            NEXT,
            vec![
                ("Write", json!({ "file_path": made, "content": "made\n" })),
                command("echo shell > by-shell.txt"),
            ],
        ),
        (
            "change it",
            vec![("Edit", json!({ "file_path": made, "old_string": "made", "new_string": "changed" }))],
        ),
    ]);
    let (session, mut client, id) = after_two_turns(session, &model);
    let before = session.tree();
    client.suggested(NEXT, Some("ready"));
    assert_eq!(session.tree(), before, "nothing is written before it is taken");
    // The fork begins with what was sent before: the system prompt, the tools and all of the history.
    for words in ["A question from the program", NEXT] {
        begins_with(&turns(&model, words)[0], turns(&model, "hello again").last().unwrap());
    }
    let prompt = client.prompt(&id, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let read = |path: &str| std::fs::read_to_string(session.workspace().join(path)).ok();
    assert_eq!(
        (read("made.txt").as_deref(), read("by-shell.txt").as_deref()),
        (Some("made\n"), Some("shell\n"))
    );
    // The first agent knows the file that the second agent wrote, so it edits the file without reading it again.
    let prompt = client.prompt(&id, "change it");
    answer_kind(&mut client, "allow_once");
    assert_eq!(client.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(read("made.txt").as_deref(), Some("changed\n"));
    let now = turns(&model, "change it");
    assert_eq!(now.len(), 2, "one call, and its answer");
    let result = results(&now[1]).pop().unwrap();
    assert_ne!(result["is_error"], true, "{result}");
    begins_with(&now[0], turns(&model, NEXT).last().unwrap());
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}

/// Has work stop at a command that only the user can allow, waits for `held`, and then answers with an option of this
/// kind.
fn answered_at_the_boundary(kind: &str, held: Duration) {
    let session = user();
    session.write("project/script.sh", "echo ran >> count.txt\n");
    let model = model(vec![(NEXT, vec![command("bash ./script.sh")])]);
    let (session, mut client, id) = after_two_turns(session, &model);
    client.suggested(NEXT, Some("boundary"));
    let before = session.tree();
    let asked = turns(&model, NEXT).len();
    std::thread::sleep(held);
    assert_eq!((session.tree(), turns(&model, NEXT).len()), (before, asked), "it waits, and nothing else");
    let prompt = client.prompt(&id, "/next");
    let question = answer_kind(&mut client, kind);
    assert_eq!(question["params"]["sessionId"], id.as_str());
    assert!(question["params"]["toolCall"].to_string().contains("bash ./script.sh"), "{question}");
    if kind == "allow_once" {
        client.answer_question("write");
    }
    let answer = client.answer_to(prompt);
    assert_eq!(client.said(&id, "what now?"), "end_turn", "{answer}");
    let ran = std::fs::read_to_string(session.workspace().join("count.txt")).ok();
    assert_eq!(ran.as_deref(), (kind == "allow_once").then_some("ran\n"));
    let history = turns(&model, "what now?").pop().unwrap();
    let results = results(&history);
    assert_eq!(results.len(), 1, "the answer is in the history, once: {history}");
    assert_eq!(results[0]["is_error"] == true, kind != "allow_once", "{results:?}");
    assert_eq!(history["messages"].to_string().matches(NEXT).count(), 1, "{history}");
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}

#[test]
#[ignore = "needs claude-agent-acp; .ci/long installs it"]
fn what_claude_agent_acp_asks_ahead_is_answered_in_the_editor() {
    for kind in ["allow_once", "reject_once"] {
        answered_at_the_boundary(kind, Duration::ZERO);
    }
}

#[test]
#[ignore = "needs claude-agent-acp, and takes ten minutes; .ci/long runs it"]
fn what_claude_agent_acp_asks_ahead_waits_for_ten_minutes() {
    answered_at_the_boundary("allow_once", Duration::from_secs(600));
}

#[test]
#[ignore = "needs claude-agent-acp; .ci/long installs it"]
fn work_of_claude_agent_acp_that_is_not_taken_leaves_nothing() {
    let session = user();
    let made = session.workspace().canonicalize().unwrap().join("made.txt");
    let model = model(vec![(
        NEXT,
        vec![
            ("Write", json!({ "file_path": made, "content": "made\n" })),
            command("echo shell > by-shell.txt"),
        ],
    )]);
    let (session, mut client, id) = after_two_turns(session, &model);
    let before = session.tree();
    client.suggested(NEXT, Some("ready"));
    client.notify("session/cancel", json!({ "sessionId": id }));
    assert_eq!(client.said(&id, "/ahead off"), "end_turn");
    assert_eq!(client.said(&id, "something else"), "end_turn");
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
    assert_nothing_is_left(&session);
    assert_eq!(session.tree(), before);
    // The agent keeps only one conversation, that of its user.
    let folders = std::fs::read_dir(session.home().join(".claude/projects")).unwrap().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    let names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let kept: Vec<_> = names.iter().filter(|name| name.contains(".jsonl")).collect();
    assert_eq!(kept, [&format!("{id}.jsonl")], "{names:?}");
    let history = turns(&model, "something else").pop().unwrap();
    assert!(!history.to_string().contains(NEXT), "{history}");
}

#[test]
#[ignore = "needs claude-agent-acp; .ci/long installs it"]
fn what_claude_agent_acp_suggests_itself_is_shown_in_every_editor() {
    let model = model(Vec::new());
    let session = user().variable("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1"));
    let (mut client, id) = open_session(&session, &["--suggestions", "agent"]);
    assert_eq!(client.said(&id, "hello"), "end_turn");
    assert_eq!(client.said(&id, "hello again"), "end_turn");
    client.suggested("run the tests", None);
    let declared = client.log.iter().find(|(_, message)| message.to_string().contains("jetbrains"));
    assert!(declared.is_none(), "{declared:?}");
    // The suggestion is sent as any other prompt.
    assert_eq!(client.said(&id, "/next"), "end_turn");
    assert!(!turns(&model, "run the tests").is_empty());
    assert!(turns(&model, "A question from the program").is_empty());
    assert_eq!(client.end(), Some(0));
}
