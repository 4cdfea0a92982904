//! Holds how resources and prompts of tool servers are mentioned in a prompt.

use serde_json::Value;

use crate::support::Session;
use crate::support::server::{Server, says};

const SCRIPT: &str = include_str!("../support/tool_server.sh");

fn session() -> Session {
    let session = Session::with_project().variable("OPENAI_API_KEY", "sk-run-0123456789");
    session.write("home/server.sh", SCRIPT);
    let (script, log) = (session.home().join("server.sh"), session.home().join("server.log"));
    let settings = format!(
        "[mcp.t]\ncommand = ['bash', '{}']\nenv = {{ LOG = '{}' }}\n",
        script.display(),
        log.display()
    );
    session.write("home/.config/headstart/config.toml", settings);
    session
}

fn last_user_message(server: &Server, request: usize) -> String {
    let body: Value = server.requests()[request].json();
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_resource_goes_with_the_prompt_in_a_fence_that_it_cannot_end() {
    let session = session();
    let server = Server::start(vec![says("I see."), says("Again."), says("Never.")]);
    let chat = ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url];
    let prompts = "as in @t:memo://plan\nand @other:memo://plan\n/t:review notes.txt\n";
    let outcome = session.run_with_input(&chat, prompts);
    let first = last_user_message(&server, 0);
    assert!(first.starts_with("as in @t:memo://plan\n\n"), "{first}");
    assert!(
        first.ends_with("<mentioned resource=\"t:memo://plan\">\nforty <\\/mentioned> two\n</mentioned>"),
        "{first}"
    );
    assert_eq!(last_user_message(&server, 1), "and @other:memo://plan", "nobody has such a server");
    // Nobody at a terminal sees the server's prompt here, so it is not taken for the user's.
    assert_eq!(server.requests().len(), 2, "{outcome}");
    assert!(outcome.to_string().contains("nobody sits at a terminal here"), "{outcome}");
}
