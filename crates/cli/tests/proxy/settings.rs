//! Holds that work which is taken goes on with the settings that the editor shows, and that nothing is taken in plan
//! mode.

use std::time::{Duration, Instant};

use super::{NEXT, User, Value, answer_text, json, with};
use crate::client::Client;

/// A user in whose mode nobody is asked about edits, and to whom work is suggested that writes a file; the prompt
/// `again` writes another one, and the prompt `settings` tells what the agent was set to.
fn user() -> User {
    let user = User::with_next(json!([{ "write": "made.txt", "content": "made\n" }, { "say": "Made." }]));
    let user = with(user, "again", json!([{ "write": "again.txt", "content": "again\n" }]));
    let user = with(user, "settings", json!([{ "say": "SETTINGS" }]));
    with(user, "mode", json!("acceptEdits"))
}

fn set_mode(client: &mut Client, session: &str, mode: &str) {
    let answer = client.request("session/set_mode", json!({ "sessionId": session, "modeId": mode }));
    assert!(answer.get("error").is_none(), "{answer}");
}

fn set_option(client: &mut Client, session: &str, option: &str, value: &str) {
    let params = json!({ "sessionId": session, "configId": option, "value": value });
    let answer = client.request("session/set_config_option", params);
    assert!(answer.get("error").is_none(), "{answer}");
}

/// Sends a prompt whose turn writes a file. Fails if the agent does not ask its user first.
fn assert_asks_about_edits(client: &mut Client, session: &str) {
    let id = client.prompt(session, "again");
    let question = client.answer_question("reject_once");
    assert!(question["id"].is_number(), "it is the agent's own question: {question}");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
}

/// What the agent says of the settings of this session.
fn settings(client: &mut Client, session: &str) -> Value {
    let from = client.log.len();
    assert_eq!(client.said(session, "settings"), "end_turn");
    serde_json::from_str(&answer_text(client, from)).unwrap()
}

/// Whether a message withdraws the suggestion.
fn withdraws(message: &Value) -> bool {
    message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"] == json!([])
}

/// Whether a message suggests [`NEXT`] without work for it.
fn is_bare(message: &Value) -> bool {
    let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
    first["text"] == NEXT && first.get("_meta").is_none()
}

#[test]
fn a_mode_that_is_set_while_work_waits_holds_after_it_is_taken() {
    for by_agent in [false, true] {
        let user = user();
        let (mut client, session) = user.after_hello();
        client.suggested(NEXT, Some("ready"));
        if by_agent {
            client.request("_mode", json!({ "sessionId": session, "mode": "default" }));
        } else {
            set_mode(&mut client, &session, "default");
        }
        let id = client.prompt(&session, "/next");
        client.answer_question("write");
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
        assert_asks_about_edits(&mut client, &session);
        assert_eq!(user.read("again.txt"), None);
    }
}

#[test]
fn a_mode_that_is_being_set_while_work_is_taken_holds_after_it() {
    let user = with(user(), "slow", json!({ "session/set_mode": 0.3 }));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let set = client.ask("session/set_mode", json!({ "sessionId": session, "modeId": "default" }));
    let id = client.prompt(&session, "/next");
    assert!(client.answer_to(set).get("error").is_none());
    client.answer_question("write");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    std::fs::remove_file(user.session.workspace().join("made.txt")).unwrap();
    assert_asks_about_edits(&mut client, &session);
    // The mode may also change while the user is asked about the changes.
    client.suggested(NEXT, Some("ready"));
    let id = client.prompt(&session, "/next");
    let question = client.until("a question", |message| message["method"] == "session/request_permission");
    set_mode(&mut client, &session, "acceptEdits");
    set_mode(&mut client, &session, "default");
    client.respond(&question, json!({ "outcome": { "outcome": "selected", "optionId": "write" } }));
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_asks_about_edits(&mut client, &session);
}

#[test]
fn a_mode_that_is_set_while_changes_are_written_holds_after_that() {
    let user = user();
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let folder = std::fs::File::open(user.session.workspace()).unwrap();
    folder.lock().unwrap();
    let id = client.prompt(&session, "/next");
    std::thread::sleep(Duration::from_millis(300));
    let set = client.ask("session/set_mode", json!({ "sessionId": session, "modeId": "default" }));
    std::thread::sleep(Duration::from_millis(300));
    drop(folder);
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert!(client.answer_to(set).get("error").is_none());
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
    assert_asks_about_edits(&mut client, &session);
}

#[test]
fn models_and_options_that_are_set_while_work_waits_hold_after_it_is_taken() {
    let user = with(user(), "options", json!({ "effort": "low" }));
    let mut client = user.client();
    let session = client.open(&user.session);
    client.request("session/set_model", json!({ "sessionId": session, "modelId": "first" }));
    set_option(&mut client, &session, "effort", "middle");
    assert_eq!(client.said(&session, "hello"), "end_turn");
    client.suggested(NEXT, Some("ready"));
    set_option(&mut client, &session, "effort", "high");
    client.request("session/set_model", json!({ "sessionId": session, "modelId": "second" }));
    // The option is the model as well, and the last of both counts.
    set_option(&mut client, &session, "model", "third");
    set_option(&mut client, &session, "approval", "default");
    let id = client.prompt(&session, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    let listed = super::list_sessions(&mut client);
    assert_eq!(listed, [session.as_str()]);
    assert_eq!(user.stored_sessions().len(), 2, "a fork stands for the session");
    assert_eq!(settings(&mut client, &session), json!(["default", "third", { "effort": "high" }]));
}

#[test]
fn work_whose_fork_does_not_get_the_mode_is_not_taken() {
    for how in ["refuses", "ignores"] {
        let user = with(user(), how, json!("session/set_mode"));
        let mut client = user.client();
        let session = client.open(&user.session);
        set_mode(&mut client, &session, "default");
        assert_eq!(client.said(&session, "hello"), "end_turn");
        client.until("the suggestion without its work", is_bare);
        let id = client.prompt(&session, "/next");
        let question = client.answer_question("allow_once");
        assert!(question["id"].is_number(), "it is the agent's own question: {question}");
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
        assert_asks_about_edits(&mut client, &session);
    }
}

#[test]
fn a_mode_that_is_refused_after_the_work_was_ready_drops_the_work() {
    // The fork does not get the model, which is set only after the work is ready.
    let user = with(user(), "refuses", json!("session/set_model"));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let set = client.ask("session/set_model", json!({ "sessionId": session, "modelId": "small" }));
    let id = client.prompt(&session, "/next");
    assert!(client.answer_to(set).get("error").is_none());
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("made.txt").unwrap(), "made\n", "the first agent did it");
    assert_eq!(settings(&mut client, &session)[1], "small");
}

#[test]
fn plan_mode_gives_up_what_ran_ahead() {
    for how in ["mode", "option", "agent"] {
        let user = with(user(), "options", json!({ "effort": "low" }));
        let (mut client, session) = user.after_hello();
        client.suggested(NEXT, Some("ready"));
        match how {
            "mode" => set_mode(&mut client, &session, "plan"),
            "option" => set_option(&mut client, &session, "approval", "plan"),
            _ => drop(client.request("_mode", json!({ "sessionId": session, "mode": "plan" }))),
        }
        if !client.log.iter().any(|(own, message)| !own && withdraws(message)) {
            client.until("the end of the suggestion", withdraws);
        }
        assert_eq!(client.said(&session, "/next"), "end_turn");
        assert_eq!(user.read("made.txt"), None, "{how}");
        assert_eq!(settings(&mut client, &session)[0], "plan");
        // Nothing is suggested in plan mode, which is told, and the next suggestion is for another mode.
        assert_eq!(client.said(&session, "hello"), "end_turn");
        client.until("why nothing is suggested", |message| {
            message["params"]["update"]["_meta"]["headstart"]["unsuggested"]["code"] == "plan_mode"
        });
        set_mode(&mut client, &session, "acceptEdits");
        assert_eq!(client.said(&session, "hello"), "end_turn");
        client.suggested(NEXT, Some("ready"));
        assert_eq!(client.said(&session, "/next"), "end_turn");
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
    }
}

#[test]
fn plan_mode_that_is_being_set_while_work_is_taken_keeps_it_from_being_written() {
    let user = with(user(), "slow", json!({ "session/set_mode": 0.3 }));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    client.ask("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    let id = client.prompt(&session, "/next");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("made.txt"), None);
    assert_eq!(settings(&mut client, &session)[0], "plan");
}

#[test]
fn nothing_runs_ahead_in_plan_mode_for_what_the_agent_suggests_itself() {
    let said = json!({ "sessionUpdate": "session_info_update", "_meta": { "promptSuggestions": { "suggestions": [{ "text": NEXT }] } } });
    let user = with(user(), "hello", json!([{ "say": "Hello." }, { "update": said }]));
    let user = with(user, "mode", json!("plan"));
    let mut client = user.start(&["--suggestions", "agent"], &["claude-agent-acp"]);
    client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let session = client.open(&user.session);
    let from = client.log.len();
    assert_eq!(client.said(&session, "hello"), "end_turn");
    let until = Instant::now() + Duration::from_secs(2);
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        client.next_within(left);
    }
    let told: Vec<_> =
        client.log[from..].iter().filter(|(_, message)| message.to_string().contains(NEXT)).collect();
    assert!(!told.is_empty(), "it is suggested");
    assert!(!told.iter().any(|(_, message)| message.to_string().contains("running")), "{told:?}");
    assert_eq!(client.said(&session, "/next"), "end_turn");
    assert_eq!(user.read("made.txt"), None);
}
