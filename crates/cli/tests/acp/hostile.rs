//! A project that somebody only cloned and opened in an editor, and that tries all it can.

use serde_json::{Value, json};

use crate::client::Client;
use crate::support::Session;
use crate::support::hostile::{
    GIT_LOOKS, GUESS, HONEST_GUESS, LOOSENING, SECRET, bounded, for_each_plant,
    for_each_repository_elsewhere, looks, obedient_model, user,
};
use crate::support::server::Server;

/// Opens the project as an editor does, gives its model one prompt, says no to each question, and waits for what the
/// model guesses. Returns all that the client was told, also on standard error.
fn open_and_ask(session: &Session, server: &Server) -> String {
    let own = format!(
        "model = 'openai:own'\nbase_url = '{}'\ncandidates = 3\n[models.'openai:own']\nfree = false\n",
        server.base_url
    );
    session.write("home/.config/headstart/config.toml", own);
    let errors = tempfile::NamedTempFile::new().unwrap();
    let mut client =
        Client::with_errors(bounded(&session.command(&["acp"])), errors.reopen().unwrap().into());
    client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let cwd = session.workspace().canonicalize().unwrap();
    let opened = client.request("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    if let Some(id) = opened["result"]["sessionId"].as_str() {
        let prompt = client.prompt(id, "look around");
        loop {
            let message = client.until("the answer", |message| {
                message["id"] == prompt && message.get("method").is_none()
                    || message["method"] == "session/request_permission"
            });
            if message["id"] == prompt && message.get("method").is_none() {
                break;
            }
            client.respond(&message, json!({ "outcome": { "outcome": "selected", "optionId": "reject" } }));
        }
        client.suggested(HONEST_GUESS, None);
        client.request("session/close", json!({ "sessionId": id }));
    }
    assert_eq!(client.end(), Some(0));
    let told = client.log.iter().filter(|(own, _)| !own).map(|(_, message)| message.to_string() + "\n");
    told.collect::<String>() + &std::fs::read_to_string(errors.path()).unwrap()
}

/// What the provider was sent, without the key of its own.
fn sent(server: &Server) -> String {
    server.requests().into_iter().map(|request| request.body).collect()
}

#[test]
fn whatever_lies_in_the_place_of_a_file_tells_no_secret_and_hangs_nothing() {
    for_each_plant(|plant, session| {
        let server = obedient_model(looks());
        let told = open_and_ask(session, &server);
        assert!(!told.contains(SECRET) && !sent(&server).contains(SECRET), "{plant}: {told}");
        assert!(!told.contains(GUESS) && !told.contains("/mode yolo"), "{plant}: {told}");
        assert!(told.len() < 1 << 20, "{plant}: {} bytes", told.len());
    });
}

#[test]
fn a_repository_elsewhere_stays_closed() {
    for_each_repository_elsewhere(|way, session| {
        let mut calls = looks();
        for command in GIT_LOOKS {
            calls.push(("shell", json!({ "command": command })));
        }
        calls.push(("search_codebase", json!({ "query": "canary" })));
        let server = obedient_model(calls);
        let told = open_and_ask(session, &server);
        assert!(!told.contains(SECRET) && !sent(&server).contains(SECRET), "{way}: {told}");
    });
}

#[test]
fn a_line_that_loosens_is_an_error_that_names_the_field_and_repeats_nothing() {
    let session = user();
    for (line, field) in LOOSENING {
        session.write("project/.headstart/config.toml", line);
        let server = obedient_model(looks());
        let told = open_and_ask(&session, &server);
        assert!(told.contains(field) && told.contains("\"error\""), "{line}: {told}");
        assert!(!told.contains("canary"), "{line}: {told}");
        assert!(server.requests().is_empty(), "{line}");
    }
}

/// The project's choices that its user has not agreed to: another model, a tool server, and rules that are longer than
/// what is shown of them.
#[test]
fn a_projects_model_and_servers_wait_for_a_yes_and_its_rules_are_told() {
    let session = user();
    let mut lines = "model = 'openai:theirs'\nfast_model = 'openai:theirs'\n".to_owned();
    if cfg!(feature = "mcp") {
        lines += "[mcp.t]\ncommand = ['sh', '-c', 'touch owned']\nenv = { LEVEL = 'debug' }\n";
    }
    session.write("project/.headstart/config.toml", lines);
    let rules: Vec<_> = (1..=40).map(|number| format!("rule {number}")).collect();
    session.write("project/AGENTS.md", rules.join("\n"));
    let server = obedient_model(looks());
    let told = open_and_ask(&session, &server);
    let models: Vec<Value> =
        server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert!(!models.is_empty() && models.iter().all(|model| model == "own"), "{models:?}");
    assert!(told.contains("openai:theirs"), "it is said that the project chooses another: {told}");
    assert!(told.contains("rule 12") && told.contains("more lines, which the model reads as well"), "{told}");
    assert!(!session.workspace().join("owned").exists());
    assert!(!told.contains(GUESS), "{told}");
}
