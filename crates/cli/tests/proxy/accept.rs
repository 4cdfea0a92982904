//! Holds what happens when work that ran ahead is taken, and when it is not.

use super::{NEXT, User, answer_text, assert_nothing_is_left, json, list_sessions, with};
use crate::client::Client;
use crate::support::recorded;

/// Steps that write one file with a tool and one with a shell.
fn two_files() -> serde_json::Value {
    json!([
        { "write": "made.txt", "content": "made\n" },
        { "run": "echo shell > by-shell.txt" },
        { "say": "Both are made." },
    ])
}

#[test]
fn the_page_shows_what_an_editor_sees_of_work_ahead() {
    let mut user = User::with_next(two_files());
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let id = client.prompt(&session, "/next");
    allow_write(&mut client);
    client.answer_to(id);
    let name = |message: &serde_json::Value| {
        message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default().to_owned()
    };
    let offer = |message: &serde_json::Value| {
        message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0].clone()
    };
    let last = client.log.iter().rposition(|(own, message)| *own && message["id"] == id).unwrap();
    let ready = client.log[..last].iter().rposition(|(_, message)| offer(message)["text"] == NEXT).unwrap();
    let ends = client.log.iter().position(|(own, message)| !own && message["id"] == id).unwrap();
    let own_id = offer(&client.log[ready].1)["_meta"]["headstart"]["id"].as_str().unwrap().to_owned();
    // How often the state of the work is sent depends on the machine, so these messages are left out.
    client.log.truncate(ends + 1);
    let mut number = 0;
    client.log.retain(|(own, message)| {
        number += 1;
        let is_offer = name(message) == "session_info_update" || name(message) == "available_commands_update";
        !is_offer && (*own || number < ready + 2 || last < number) || number == ready + 1
    });
    user.session.name("session", &session);
    user.session.name("suggestion", &own_id);
    let calls =
        client.log.iter().filter_map(|(_, message)| message["params"]["update"]["toolCallId"].as_str());
    let mut calls: Vec<_> = calls.map(str::to_owned).collect();
    calls.dedup();
    for (number, call) in calls.iter().enumerate() {
        user.session.name(&format!("call {}", number + 1), call);
    }
    let shown = user.session.redact(&client.transcript());
    recorded("acp-proxy.md", &shown);
}

fn allow_write(client: &mut Client) {
    let question = client.answer_question("write");
    let content = question["params"]["toolCall"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "{question}");
}

#[test]
fn what_ran_ahead_is_taken_by_its_words_and_by_the_command() {
    for taken in ["/next", " write it. "] {
        let user = User::with_next(two_files());
        let (mut client, session) = user.after_hello();
        let before = user.session.tree();
        client.suggested(NEXT, Some("ready"));
        assert_eq!(user.session.tree(), before, "nothing is written before it is taken");
        let from = client.log.len();
        let id = client.prompt(&session, taken);
        allow_write(&mut client);
        let answer = client.answer_to(id);
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        assert_eq!(answer_text(&client, from), "Both are made.");
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
        assert_eq!(user.read("by-shell.txt").unwrap(), "shell\n");
        let sessions =
            client.log[from..].iter().filter_map(|(_, message)| message["params"]["sessionId"].as_str());
        assert!(sessions.into_iter().all(|name| name == session), "it knows its session alone");
        // The agent goes on from everything that was done.
        user.session.write("home/.claude/unused", "");
        let from = client.log.len();
        client.suggested(NEXT, Some("ready"));
        assert_eq!(client.said(&session, "what is there?"), "end_turn");
        assert_eq!(answer_text(&client, from), "Hello there.");
        let listed = list_sessions(&mut client);
        assert_eq!(listed, [session.as_str()], "one session for its user");
        let kept: Vec<String> = user.stored_sessions();
        let fork = kept.iter().find(|name| **name != session).unwrap();
        let file = user.session.home().join(".claude/projects").join(format!("{fork}.json"));
        let history = std::fs::read_to_string(file).unwrap();
        let order = ["hello", "write it", "Both are made.", "what is there?"];
        let places: Vec<_> = order.iter().map(|said| history.find(said).unwrap()).collect();
        assert!(places.is_sorted(), "{history}");
        // The agent also does so after a restart.
        assert_eq!(client.end(), Some(0));
        let mut again = user.client();
        let cwd = user.session.workspace();
        let from = again.log.len();
        let answer =
            again.request("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
        assert!(answer.get("error").is_none(), "{answer}");
        assert!(answer_text(&again, from).contains("Both are made."));
        let stats = user.session.run(&["stats"]).stdout;
        assert!(stats.contains("2 shown, 1 taken") && stats.contains("claude-agent-acp"), "{stats}");
        let undone = user.session.run(&["undo"]);
        assert_eq!((undone.code, user.read("made.txt")), (Some(0), None), "{undone}");
    }
}

#[test]
fn any_other_prompt_gives_it_up_without_a_trace() {
    let user = User::with_next(two_files());
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let from = client.log.len();
    assert_eq!(client.said(&session, "something else"), "end_turn");
    assert_eq!(answer_text(&client, from), "Hello there.");
    let updates = client.log[from..]
        .iter()
        .map(|(_, message)| message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"].clone());
    assert!(updates.into_iter().any(|suggestions| suggestions == json!([])), "it is taken back");
    assert_eq!((user.read("made.txt"), user.read("by-shell.txt")), (None, None));
    let content =
        std::fs::read_to_string(user.session.home().join(".claude/projects").join(format!("{session}.json")))
            .unwrap();
    assert!(!content.contains(NEXT) && content.contains("something else"), "{content}");
    client.suggested(NEXT, Some("ready"));
    assert_eq!(client.end(), Some(0));
    let mut next = user.client();
    assert_eq!(list_sessions(&mut next), [session.as_str()]);
    next.request("_flush", json!({}));
    assert_eq!(user.stored_sessions(), [session], "no fork is left");
    assert_eq!(next.end(), Some(0));
    assert_nothing_is_left(&user.session);
}

#[test]
fn changes_that_are_not_wanted_are_not_written() {
    let user = User::with_next(two_files());
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let from = client.log.len();
    let id = client.prompt(&session, "/next");
    client.answer_question("drop");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(answer_text(&client, from), "Nothing was written.");
    assert_eq!((user.read("made.txt"), user.read("by-shell.txt")), (None, None));
    // In a mode in which the agent does not ask about edits, nobody asks when the work is taken.
    client.request("session/set_mode", json!({ "sessionId": session, "modeId": "acceptEdits" }));
    assert_eq!(client.said(&session, "hello"), "end_turn");
    client.suggested(NEXT, Some("ready"));
    assert_eq!(client.said(&session, "/next"), "end_turn");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
fn a_boundary_is_a_question_that_waits_for_its_user() {
    for (option, history) in [("allow_once", "did"), ("reject_once", "refused")] {
        let user = User::with_next(json!([
            { "write": "made.txt", "content": "made\n" },
            { "run": "bash ./script.sh" },
            { "say": "It ran." },
        ]));
        user.session.write("project/script.sh", "echo ran >> count.txt\n");
        let (mut client, session) = user.after_hello();
        client.suggested(NEXT, Some("boundary"));
        let before = user.session.tree();
        let from = client.log.len();
        let id = client.prompt(&session, "/next");
        let question =
            client.until("the question", |message| message["method"] == "session/request_permission");
        assert_eq!(question["params"]["sessionId"], session.as_str());
        assert_eq!(question["params"]["toolCall"]["rawInput"]["command"], "bash ./script.sh");
        assert!(!question.to_string().contains("allow_always"), "{question}");
        assert_eq!(user.session.tree(), before);
        client.respond(&question, json!({ "outcome": { "outcome": "selected", "optionId": option } }));
        client.answer_question("write");
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
        assert_eq!(answer_text(&client, from), "It ran.");
        assert_eq!(user.read("count.txt"), (option == "allow_once").then(|| "ran\n".to_owned()));
        assert_eq!(user.read("made.txt").unwrap(), "made\n");
        let fork = user.stored_sessions().into_iter().find(|name| {
            let file = user.session.home().join(".claude/projects").join(format!("{name}.json"));
            std::fs::read_to_string(file)
                .unwrap()
                .matches(&format!(r#"["{history}", "bash ./script.sh""#))
                .count()
                == 1
        });
        assert!(fork.is_some(), "the answer is in the history, once");
    }
}

#[test]
fn a_call_that_no_view_can_hold_is_the_first_agents() {
    let user = User::with_next(json!([{ "run": "echo hello > ../outside.txt" }, { "say": "It is there." }]));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("boundary"));
    let from = client.log.len();
    let id = client.prompt(&session, "/next");
    // The first agent asks as it would without the proxy, and then acts.
    let question = client.answer_question("allow_once");
    assert!(question["id"].is_number(), "it is the agent's own question: {question}");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(answer_text(&client, from), "It is there.");
    let outside = user.session.workspace().parent().unwrap().join("outside.txt");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "hello\n");
}

#[test]
fn work_that_is_still_going_on_can_be_taken() {
    let user = User::with_next(
        json!([{ "say": "I begin. " }, { "sleep": 1 }, { "write": "made.txt", "content": "made\n" }, { "say": "Done." }]),
    );
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("running"));
    let from = client.log.len();
    let id = client.prompt(&session, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(answer_text(&client, from), "I begin. Done.");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
fn a_prompt_that_takes_work_can_be_cancelled() {
    let user = User::with_next(json!([{ "say": "I begin. " }, { "sleep": 600 }]));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("running"));
    let id = client.prompt(&session, "/next");
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "cancelled");
    assert_eq!(client.said(&session, "something else"), "end_turn");
}

#[test]
fn what_its_user_changed_meanwhile_is_kept_and_the_prompt_runs_anew() {
    let user = User::with_next(json!([{ "write": "notes.txt", "content": "work\n" }, { "say": "Written." }]));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    user.session.write("project/notes.txt", "theirs, and longer\n");
    let from = client.log.len();
    let id = client.prompt(&session, "/next");
    client.answer_question("write");
    // The first agent is sent the prompt, and asks the user itself.
    let question = client.answer_question("reject_once");
    assert!(question["id"].is_number(), "{question}");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(answer_text(&client, from), "Written.");
    assert_eq!(user.read("notes.txt").unwrap(), "theirs, and longer\n");
    let history =
        std::fs::read_to_string(user.session.home().join(".claude/projects").join(format!("{session}.json")))
            .unwrap();
    assert!(history.contains(NEXT), "it is the session itself that went on: {history}");
}

#[test]
fn an_agent_that_does_not_adopt_a_fork_does_the_prompt_itself() {
    let user = with(User::with_next(two_files()), "resume", json!("fails"));
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("running"));
    // The work is gone, but the suggestion stays.
    client.until("the suggestion without work", |message| {
        let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        first["text"] == NEXT && first.get("_meta").is_none()
    });
    let id = client.prompt(&session, "/next");
    client.answer_question("allow_once");
    client.answer_question("allow_once");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
fn many_accepts_leave_one_session() {
    let user = User::with_next(json!([{ "write": "made.txt", "content": "made\n" }, { "say": "Made." }]));
    let (mut client, session) = user.after_hello();
    client.request("session/set_mode", json!({ "sessionId": session, "modeId": "acceptEdits" }));
    for _ in 0..10 {
        client.suggested(NEXT, Some("ready"));
        assert_eq!(client.said(&session, "/next"), "end_turn");
    }
    assert_eq!(list_sessions(&mut client), [session.as_str()]);
    assert_eq!(client.said(&session, "/ahead off"), "end_turn");
    client.request("_flush", json!({}));
    assert_eq!(client.end(), Some(0));
    assert_eq!(user.stored_sessions().len(), 2, "its own, and the fork that stands for it");
}
