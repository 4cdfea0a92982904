//! Holds that the turn of an editor's user is asked about once, at its end, where commands run in views.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use super::User;
use crate::client::Client;

/// A user whose turn writes two files and has a command make a third one.
fn user() -> User {
    let user = User::new()
        .writes("a.txt", "a\n")
        .calls("shell", json!({ "command": "cat a.txt notes.txt > both.txt" }))
        .writes("b.txt", "b\n")
        .says("Three files.");
    with_views(user)
}

fn with_views(mut user: User) -> User {
    user.session = user.session.variable("HEADSTART_SHADOW", "");
    user
}

fn questions(client: &Client) -> Vec<&Value> {
    let asked = |message: &&(bool, Value)| message.1["method"] == "session/request_permission";
    client.log.iter().filter(asked).map(|(_, message)| message).collect()
}

/// Waits for a question.
fn question(client: &mut Client) -> Value {
    client.until("a question", |message| message["method"] == "session/request_permission")
}

fn answer(client: &mut Client, question: &Value, option: &str) {
    client.respond(question, json!({ "outcome": { "outcome": "selected", "optionId": option } }));
}

/// The last state that the client was told of the calls of a tool.
fn states(client: &Client, tool: &str) -> Vec<String> {
    let updates = || client.log.iter().map(|(_, message)| &message["params"]["update"]);
    let calls = updates().filter(|update| update["sessionUpdate"] == "tool_call" && update["name"] == tool);
    let last = |call: &Value| {
        let same =
            |update: &&Value| update["toolCallId"] == call["toolCallId"] && update.get("status").is_some();
        updates().rfind(same).unwrap()["status"].as_str().unwrap().to_owned()
    };
    calls.map(last).collect()
}

#[test]
fn a_turn_asks_once_when_it_ends() {
    let user = user();
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "write them");
    let asked = question(&mut client);
    let call = &asked["params"]["toolCall"];
    assert_eq!(call["title"], "Write: 3 files +4 -0", "{asked}");
    let diffs: Vec<_> = call["content"].as_array().unwrap().iter().map(|part| &part["newText"]).collect();
    assert_eq!(diffs, ["a\n", "b\n", "a\none\n"], "{asked}");
    let options: Vec<_> = asked["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| (option["optionId"].as_str().unwrap(), option["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        options,
        [("allow", "allow_once"), ("reject", "reject_once"), ("later", "reject_once")],
        "{asked}"
    );
    assert_eq!((user.read("a.txt"), user.read("both.txt")), (None, None), "nothing is written before a yes");
    assert_eq!(states(&client, "write_file"), ["in_progress", "in_progress"], "{}", client.transcript());
    answer(&mut client, &asked, "allow");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("both.txt").as_deref(), Some("a\none\n"));
    assert_eq!(states(&client, "write_file"), ["completed", "completed"], "{}", client.transcript());
    assert_eq!(questions(&client).len(), 1, "{}", client.transcript());
    assert_eq!(client.said(&session, "/undo"), "end_turn");
    assert_eq!((user.read("a.txt"), user.read("both.txt")), (None, None));
}

#[test]
fn what_is_refused_is_dropped_and_the_model_is_told() {
    let user = user();
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "write them");
    let asked = question(&mut client);
    answer(&mut client, &asked, "reject");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!((user.read("a.txt"), user.read("both.txt")), (None, None));
    assert_eq!(states(&client, "write_file"), ["failed", "failed"]);
    let told = client.transcript();
    assert!(told.contains("Dropped: 3 files +4 -0. The model is told with your next prompt."), "{told}");
    client.said(&session, "/write");
    assert!(client.transcript().contains("Nothing is staged."), "{}", client.transcript());
}

/// Nobody has to answer: what is staged stays, the next turn goes on over it, and so does another session.
#[test]
fn what_nobody_answers_stays_staged() {
    let edit = json!({ "file_path": "a.txt", "old_string": "a", "new_string": "c" });
    let user = with_views(
        User::new()
            .writes("a.txt", "a\n")
            .says("One.")
            .calls("edit", edit.clone())
            .says("Two.")
            .calls("edit", edit)
            .says("Two again.")
            .writes("b.txt", "b\n")
            .says("Three."),
    );
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "write it");
    let asked = question(&mut client);
    answer(&mut client, &asked, "later");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    let told = client.transcript();
    assert!(told.contains("Not written yet: 1 file +1 -0."), "{told}");
    // The client takes the question away.
    let id = client.prompt(&session, "change it");
    let asked = question(&mut client);
    client.respond(&asked, json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    client.said(&session, "/diff");
    assert!(client.transcript().contains(r"+c\n```"), "{}", client.transcript());
    client.said(&session, "/undo");
    client.said(&session, "/diff");
    assert!(client.transcript().contains(r"+a\n```"), "{}", client.transcript());
    assert_eq!(states(&client, "edit"), ["failed"], "{}", client.transcript());
    assert_eq!(states(&client, "write_file"), ["in_progress"], "{}", client.transcript());
    let id = client.prompt(&session, "change it again");
    let asked = question(&mut client);
    answer(&mut client, &asked, "later");
    client.answer_to(id);
    // The user stops the prompt whose question stands.
    let id = client.prompt(&session, "another one");
    question(&mut client);
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "cancelled");
    assert_eq!((user.read("a.txt"), user.read("b.txt")), (None, None));
    assert_eq!(client.end(), Some(0));
    let mut client = user.client("default");
    let cwd = user.session.workspace().canonicalize().unwrap();
    client.request("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    assert_eq!(client.said(&session, "/write"), "end_turn");
    assert_eq!((user.read("a.txt").as_deref(), user.read("b.txt").as_deref()), (Some("c\n"), Some("b\n")));
    assert!(client.transcript().contains("Written: 2 files +2 -0"), "{}", client.transcript());
}

#[test]
fn what_the_user_saved_while_the_question_stood_is_a_conflict() {
    let edit = json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" });
    let user = with_views(
        User::new().calls("read_file", json!({ "file_path": "notes.txt" })).calls("edit", edit).says("Two."),
    );
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "change it");
    let asked = question(&mut client);
    user.session.write("project/notes.txt", "mine\n");
    answer(&mut client, &asked, "allow");
    let conflict = question(&mut client);
    let title = conflict["params"]["toolCall"]["title"].as_str().unwrap();
    assert!(title.starts_with("Not written: 1 file changed"), "{conflict}");
    answer(&mut client, &conflict, "reject");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("notes.txt").as_deref(), Some("mine\n"));
    assert_eq!(states(&client, "edit"), ["in_progress"], "it stays staged: {}", client.transcript());
    assert!(client.transcript().contains("Not written yet: 1 file"), "{}", client.transcript());
}

#[test]
fn a_mode_that_writes_without_a_question_writes_at_the_end() {
    let user = user();
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    assert_eq!(client.said(&session, "write them"), "end_turn");
    assert_eq!(user.read("both.txt").as_deref(), Some("a\none\n"));
    assert_eq!(states(&client, "write_file"), ["completed", "completed"]);
    assert_eq!(questions(&client).len(), 0);
}

/// What a view cannot give is asked about in between, and a yes writes first what is staged.
#[test]
fn a_call_for_which_no_view_will_do_is_asked_about_with_what_is_staged() {
    let user = with_views(
        User::new()
            .writes("a.txt", "a\n")
            .calls("shell", json!({ "command": "cat a.txt; git push nowhere" }))
            .writes("b.txt", "b\n")
            .says("Done."),
    );
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "write and push");
    let asked = question(&mut client);
    assert_eq!(asked["params"]["options"][0]["name"], "Write what is staged, then allow this", "{asked}");
    let content = asked["params"]["toolCall"]["content"].to_string();
    assert!(content.contains("a.txt"), "{asked}");
    answer(&mut client, &asked, "allow");
    let asked = question(&mut client);
    assert_eq!(user.read("a.txt").as_deref(), Some("a\n"));
    assert_eq!(asked["params"]["toolCall"]["title"], "Write: 1 file +1 -0", "{asked}");
    answer(&mut client, &asked, "allow");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("b.txt").as_deref(), Some("b\n"));
}
