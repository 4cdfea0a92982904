//! Runs Qwen Code itself, which `.ci/install hosts` installs next to the build. It makes suggestions itself, with a
//! notification of its own.

use super::after_two_turns;
use crate::support::server::{ScriptedResponse, Server, says};
use crate::support::{Session, installed};

#[test]
#[ignore = "needs Qwen Code; .ci/long installs it"]
fn what_qwen_code_suggests_itself_is_shown_in_every_editor() {
    let model = Server::answering(|request| {
        if !request.head.contains("/chat/completions") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        says(if request.body.contains("SUGGESTION MODE") { "run the tests" } else { "Hello there." })
    });
    let session = Session::new();
    session.git(&["init", "-q"]);
    let path = format!("{}:/usr/bin:/bin", installed("node/bin").display());
    let session = session
        .variable("PATH", &path)
        .variable("OPENAI_BASE_URL", &model.base_url)
        .variable("OPENAI_API_KEY", "none")
        .variable("OPENAI_MODEL", "scripted");
    let node = installed("node/bin/node").display().to_string();
    let program = installed("@qwen-code/qwen-code/cli-entry.js").display().to_string();
    let product = [&node, &program, "--acp", "--auth-type", "openai"];
    let (mut client, id) = after_two_turns(&session, &["--suggestions", "agent"], &product);
    client.suggested("run the tests", None);
    assert_eq!(client.said(&id, "/next"), "end_turn");
    let was_prompted = model.requests().iter().any(|request| {
        let messages =
            serde_json::from_str::<serde_json::Value>(&request.body).unwrap_or_default()["messages"].clone();
        let last = messages.as_array().and_then(|messages| messages.last().cloned()).unwrap_or_default();
        last["role"] == "user" && last["content"].to_string().contains("run the tests")
    });
    assert!(was_prompted, "it is a prompt as any other");
    assert_eq!(client.end(), Some(0));
}
