//! Holds that nobody is asked about a call that would fail whatever the answer, and that the model learns why.

use serde_json::{Value, json};

use crate::fixture::{Chat, project, project_with_suggestion};
use crate::support::server::{Server, calls, says};

const NOT_ENCRYPTED: &str = "http://example.org/x: it is not encrypted, and only https is fetched";

#[test]
fn an_address_that_is_never_fetched_is_refused_without_a_question() {
    let url = |url: &str| json!({ "url": url });
    let mut chat = project()
        .calls(0, "fetch_url", url("http://example.org/x"))
        .calls(0, "fetch_url", url("https://[::ffff:169.254.169.254]/latest"))
        .calls(0, "fetch_url", url("https://example.org/x"))
        .says(0, "It is not fetched.")
        .chat_in("default", 120, 40);
    chat.send("begin\r");
    // The first two calls are answered, so the model makes the third one, about which the user is asked.
    chat.wait_for(&format!("✗ fetch_url\n  {NOT_ENCRYPTED}"));
    chat.wait_for("its host is at ::ffff:169.254.169.254, which is this machine");
    chat.wait_for("  url: https://example.org/x\n  fetch_url opens a connection\n");
    assert_eq!(chat.count("url: http:") + chat.count("url: https://["), 0, "{}", chat.contents());
    chat.answer("n");
    chat.wait_for("It is not fetched.");
    chat.leave();
}

#[test]
fn work_ahead_goes_on_behind_a_call_that_can_only_fail() {
    let mut chat = project_with_suggestion()
        .calls(0, "fetch_url", json!({ "url": "http://example.org/x" }))
        .says(0, "It is not fetched.")
        .chat_with_ghost_in("default", 120);
    chat.wait_for("ahead ✓ ready · an answer of 4 words");
    chat.take();
    chat.wait_for(NOT_ENCRYPTED);
    chat.wait_for("It is not fetched.");
    assert_eq!(chat.count("run this?"), 0);
    chat.leave();
}

/// A call, and what the user and the model read of it.
fn malformed() -> [(&'static str, Value, &'static str); 6] {
    let not_an_object = "the arguments are not a JSON object, so nothing ran; it takes ";
    [
        ("shell", json!("{\"command\": \"touch made"), not_an_object),
        ("read_file", json!([1]), not_an_object),
        ("shell", json!({ "command": 7 }), "shell: the argument command must be a string, not 7"),
        ("shell", json!({ "cmd": "ls" }), "shell: there is no argument \"cmd\"; it takes command, directory"),
        ("read_file", json!({ "file_path": "notes.txt", "limit": "many" }), "must be a whole number"),
        ("fetch_url", json!({ "url": true }), "fetch_url: the argument url must be a string, not a boolean"),
    ]
}

#[test]
fn arguments_that_no_tool_understands_are_answered_with_what_is_expected() {
    for (mode, columns) in [("default", 80), ("yolo", 120)] {
        let cases = malformed();
        let made: Vec<_> = cases.iter().map(|(name, args, _)| (*name, args.clone())).collect();
        let server = Server::start(vec![calls(&made), says("I see.")]);
        let project = project().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
        let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", mode];
        let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), columns, 50);
        chat.send("begin\r");
        chat.wait_for("I see.");
        let screen = chat.contents();
        for text in ["run this?", "line 1", "column", "malformed_arguments"] {
            assert!(!screen.contains(text), "{text}: {screen}");
        }
        let request = server.requests()[1].json();
        let results: Vec<_> = request["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|told| told["role"] == "tool")
            .collect();
        let told = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        for ((name, _, expected), result) in cases.iter().zip(results) {
            let result = result["content"].as_str().unwrap_or_default();
            assert!(result.contains(expected) && result.contains(&format!("{name}: ")), "{result}");
            assert!(told.contains(expected), "{expected}: {screen}");
            assert!(!result.contains("column"), "{result}");
        }
        chat.leave();
    }
}
