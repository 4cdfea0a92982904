//! Holds what a client is sent for each thing that the user of an editor does.

use std::time::{Duration, Instant};

use serde_json::json;

use super::User;
use crate::client::is_update;
use crate::support::{PATIENCE, processes, recorded};

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text) });
}

#[test]
pub(crate) fn a_prompt_is_answered() {
    let mut user = User::new().says("Hello there.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    assert_eq!(client.said(&session, "hello"), "end_turn");
    assert_eq!(client.end(), Some(0));
    snapshot("prompt", &user.session_updates(&client, &session));
}

#[test]
pub(crate) fn the_tokens_of_a_session_are_told_with_each_answer() {
    let mut user = User::new().says("Hello there.").says("Hello again.").says("No word of it.");
    let cost = |input: u64| json!({ "inputTokens": input, "cachedInputTokens": 60, "outputTokens": 7 });
    user.turns[0]["usage"] = cost(100);
    user.turns[1]["usage"] = cost(200);
    let mut client = user.client("default");
    let session = client.open(&user.session);
    for expected in [
        json!({ "totalTokens": 107, "inputTokens": 40, "outputTokens": 7, "cachedReadTokens": 60 }),
        json!({ "totalTokens": 314, "inputTokens": 180, "outputTokens": 14, "cachedReadTokens": 120 }),
    ] {
        let id = client.prompt(&session, "hello");
        assert_eq!(client.answer_to(id)["result"]["usage"], expected);
    }
}

#[test]
pub(crate) fn an_edit_shows_both_sides() {
    let edit = json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" });
    let mut user =
        User::new().calls("read_file", json!({ "file_path": "notes.txt" })).calls("edit", edit).says("Done.");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    assert_eq!(client.said(&session, "change it"), "end_turn");
    assert_eq!(user.read("notes.txt").unwrap(), "two\n");
    snapshot("edit", &user.session_updates(&client, &session));
}

#[test]
pub(crate) fn every_tool_that_edits_shows_its_file_and_both_sides() {
    let edits =
        json!([{ "old_string": "one", "new_string": "two" }, { "old_string": "two", "new_string": "three" }]);
    for (tool, args, mode, file) in [
        ("multi_edit", json!({ "file_path": "notes.txt", "edits": edits }), "auto-edit", "notes.txt"),
        ("multi_edit", json!({ "file_path": "./notes.txt", "edits": edits }), "default", "notes.txt"),
        ("create_file", json!({ "file_path": "new.txt", "content": "three\n" }), "auto-edit", "new.txt"),
        ("create_file", json!({ "file_path": "new.txt", "content": "three\n" }), "default", "new.txt"),
    ] {
        let look = json!({ "file_path": "notes.txt" });
        let user = User::new().calls("read_file", look).calls(tool, args).says("Done.");
        let mut client = user.client(mode);
        let session = client.open(&user.session);
        let id = client.prompt(&session, "change it");
        if mode == "default" {
            let question = client.answer_question("allow");
            assert_eq!(question["params"]["toolCall"]["kind"], "edit", "{question}");
        }
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
        assert_eq!(user.read(file).unwrap(), "three\n");
        let path = user.session.workspace().canonicalize().unwrap().join(file);
        let updates: Vec<_> = client.log.iter().map(|(_, message)| &message["params"]["update"]).collect();
        let call =
            updates.iter().find(|update| update["sessionUpdate"] == "tool_call" && update["name"] == tool);
        let call = call.unwrap_or_else(|| panic!("{}", client.transcript()));
        assert_eq!(
            (&call["kind"], &call["locations"]),
            (&json!("edit"), &json!([{ "path": path }])),
            "{call}"
        );
        let old = (file == "notes.txt").then_some("one\n");
        let end = updates.iter().rfind(|update| update["toolCallId"] == call["toolCallId"]).unwrap();
        let diff = &end["content"][0];
        assert_eq!((&diff["type"], &diff["path"]), (&json!("diff"), &json!(path)), "{end}");
        assert_eq!((&diff["oldText"], &diff["newText"]), (&json!(old), &json!("three\n")), "{end}");
    }
}

#[test]
pub(crate) fn a_call_waits_for_its_user() {
    for (option, reason) in [("reject", "end_turn"), ("allow", "end_turn")] {
        let mut user = User::new().writes("new.txt", "new\n").says("Understood.");
        let mut client = user.client("default");
        let session = client.open(&user.session);
        let id = client.prompt(&session, "write it");
        client.answer_question(option);
        assert_eq!(client.answer_to(id)["result"]["stopReason"], reason);
        assert_eq!(user.read("new.txt").is_some(), option == "allow");
        snapshot(&format!("permission_{option}"), &user.session_updates(&client, &session));
    }
}

#[test]
pub(crate) fn always_counts_until_the_session_ends() {
    let user = User::new()
        .calls("shell", json!({ "command": "touch a" }))
        .calls("shell", json!({ "command": "touch a" }))
        .says("Done.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "touch it twice");
    let question = client.answer_question("always");
    assert_eq!(question["params"]["options"][1]["kind"], "allow_always", "{question}");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    let questions =
        client.log.iter().filter(|(_, message)| message["method"] == "session/request_permission");
    assert_eq!(questions.count(), 1);
}

/// A client may show nothing but the title of a call and what stands below it, so all of a command is there.
#[test]
fn a_question_about_a_command_shows_all_of_it_and_what_the_model_says_as_its_words() {
    let args =
        json!({ "command": "touch a\n```\n  touch b", "directory": "sub", "description": "only lists\nls" });
    let user = User::new().calls("shell", args).says("Understood.");
    user.session.write("project/sub/x", "");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "look");
    let question = client.answer_question("reject");
    let call = &question["params"]["toolCall"];
    assert_eq!(
        call["content"][0]["content"]["text"],
        "````sh\ntouch a\n```\n  touch b\n````\n\nIn the folder sub\n\nThe model says: only lists ls",
        "{question}"
    );
    assert_eq!(call["rawInput"]["directory"], "sub", "{question}");
    assert!(call["rawInput"].get("description").is_none(), "{question}");
    client.answer_to(id);
}

#[test]
fn a_question_that_the_client_takes_away_stops_the_turn() {
    let user = User::new().writes("new.txt", "new\n").says("never");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let id = client.prompt(&session, "write it");
    let question = client.until("a question", |message| message["method"] == "session/request_permission");
    client.respond(&question, json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "cancelled");
    assert_eq!(user.read("new.txt"), None);
}

#[test]
pub(crate) fn a_prompt_is_cancelled_in_the_middle_of_a_call() {
    for by_request in [false, true] {
        let mut user = User::new().calls("shell", json!({ "command": "sleep 60" })).says("never");
        let mut client = user.client("yolo");
        let session = client.open(&user.session);
        let id = client.prompt(&session, "wait");
        client.until("the call", |message| message["params"]["update"]["status"] == "in_progress");
        if by_request {
            client.notify("$/cancel_request", json!({ "requestId": id }));
        } else {
            client.notify("session/cancel", json!({ "sessionId": session }));
        }
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "cancelled");
        if !by_request {
            snapshot("cancel", &user.session_updates(&client, &session));
        }
        // No process of the cancelled command is left.
        let is_child = |(parent, _): &(u32, String)| *parent == client.process();
        let began = Instant::now();
        while processes().iter().any(is_child) {
            assert!(began.elapsed() < PATIENCE, "the command is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
pub(crate) fn a_suggestion_is_taken_by_its_words_and_by_the_command() {
    for (typed, name) in [("add tests", "accept_text"), ("/next", "accept_next"), (" add tests. ", "")] {
        let mut user = User::with_suggestion()
            .writes("tests.txt", "a test\n")
            .says("Tests are there.")
            .suggests("run them");
        let mut client = user.client("auto-edit");
        let session = client.open(&user.session);
        assert_eq!(client.said(&session, "begin"), "end_turn");
        client.suggested("add tests", Some("ready"));
        assert_eq!(user.read("tests.txt"), None, "nothing is written before it is taken");
        assert_eq!(client.said(&session, typed), "end_turn");
        assert_eq!(user.read("tests.txt").unwrap(), "a test\n");
        if !name.is_empty() {
            let shown = user.session_updates(&client, &session);
            if typed == "/next" {
                recorded("acp.md", &shown);
            }
            snapshot(name, &shown);
        }
    }
}

#[test]
fn a_prompt_in_other_words_takes_the_work_and_a_notice_says_so() {
    let guess = json!({ "text": "yes, add tests", "chance": 80, "kind": "permission" });
    let user = User::new()
        .calls("read_file", json!({ "file_path": "notes.txt" }))
        .says("Shall I add tests?")
        .suggests(&json!({ "guesses": [guess] }).to_string())
        .writes("tests.txt", "a test\n")
        .says("Tests are there.");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    assert_eq!(client.said(&session, "begin"), "end_turn");
    client.suggested("yes, add tests", Some("ready"));
    assert_eq!(client.said(&session, "sure, go ahead"), "end_turn");
    assert_eq!(user.read("tests.txt").unwrap(), "a test\n");
    let told = client.transcript();
    assert!(told.contains("that ran ahead (“yes, add tests”) · /undo takes it back"), "{told}");
}

#[test]
pub(crate) fn other_words_and_a_cancel_take_the_suggestion_back() {
    let user = User::with_suggestion().writes("tests.txt", "x\n").says("a").says("b").says("c");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    client.said(&session, "begin");
    client.suggested("add tests", Some("ready"));
    client.notify("session/cancel", json!({ "sessionId": session }));
    client.until("the empty list", |message| {
        message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"] == json!([])
    });
    let commands = client.until("the commands", |message| is_update(message, "available_commands_update"));
    assert_eq!(commands["params"]["update"]["availableCommands"][0]["name"], "diff");
    assert_eq!(user.read("tests.txt"), None);
}

#[test]
pub(crate) fn a_mode_that_asks_is_asked_once_for_all_of_it() {
    let mut user = User::with_suggestion().writes("tests.txt", "a test\n").says("Tests are there.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    client.said(&session, "begin");
    client.suggested("add tests", Some("ready"));
    let id = client.prompt(&session, "/next");
    client.answer_question("allow");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(user.read("tests.txt").unwrap(), "a test\n");
    snapshot("accept_asked", &user.session_updates(&client, &session));
}

#[test]
fn what_an_accept_leaves_out_comes_along_if_the_client_says_so() {
    for (option, expected) in [("keep-ignored", Some("1\n")), ("allow", None)] {
        let args = json!({ "command": "echo 1 > local.db" });
        let mut user = User::with_suggestion().calls("shell", args).says("Made.");
        user.session = user.session.variable("HEADSTART_SHADOW", "");
        user.session.write("project/.gitignore", "*.db\n");
        user.session.git(&["init", "-q"]);
        let mut client = user.client("default");
        let session = client.open(&user.session);
        client.said(&session, "begin");
        client.suggested("add tests", Some("ready"));
        let id = client.prompt(&session, "/next");
        let question = client.answer_question(option);
        let told =
            question["params"]["toolCall"]["content"][0]["content"]["text"].as_str().unwrap_or_default();
        assert_eq!(told, "not kept: local.db · \"Write it and keep all\" keeps them", "{question}");
        assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
        assert_eq!(user.read("local.db").as_deref(), expected);
    }
}

#[test]
pub(crate) fn a_conflict_is_answered_by_the_user() {
    for (option, expected) in [("mine", "mine\n"), ("work", "two\n"), ("reject", "mine\n"), ("both", "")] {
        let edit = json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" });
        let mut user = User::with_suggestion().calls("edit", edit).says("It is two.");
        let mut client = user.client("auto-edit");
        let session = client.open(&user.session);
        client.said(&session, "begin");
        client.suggested("add tests", Some("ready"));
        user.session.write("project/notes.txt", "mine\n");
        let id = client.prompt(&session, "add tests");
        client.answer_question(option);
        let answer = client.answer_to(id);
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        let now = user.read("notes.txt").unwrap();
        assert!(now == expected || (option == "both" && now.contains("<<<<<<<")), "{option}: {now}");
        if option == "mine" {
            snapshot("conflict", &user.session_updates(&client, &session));
        }
    }
}

#[test]
pub(crate) fn an_undo_takes_the_last_turn_back() {
    let mut user = User::new().writes("new.txt", "new\n").says("Done.");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    client.said(&session, "write it");
    assert!(user.read("new.txt").is_some());
    assert_eq!(client.said(&session, "/undo"), "end_turn");
    assert_eq!(user.read("new.txt"), None);
    client.said(&session, "/diff");
    client.said(&session, "/ahead");
    client.said(&session, "/next");
    snapshot("undo", &user.session_updates(&client, &session));
    client.said(&session, "/stats");
    assert!(client.transcript().contains("0 offered, 0 taken, 0 s saved"), "{}", client.transcript());
}

#[test]
pub(crate) fn tools_servers_and_a_summary_are_asked_for_by_commands() {
    let user = (1..=6).fold(User::new(), |user, number| user.says(&format!("Answer {number}.")));
    let user = user.says("We counted.").says("Answer 7.");
    let mut client = user.client("plan");
    let session = client.open(&user.session);
    client.said(&session, "/tools");
    client.said(&session, "/mcp");
    client.said(&session, "/compact");
    for words in ["read_file ", "There are no tool servers.", "There is nothing to sum up yet"] {
        assert!(client.transcript().contains(words), "{words}: {}", client.transcript());
    }
    (1..=6).for_each(|number| drop(client.said(&session, &format!("count to {number}"))));
    // The prompt ends with the summary.
    assert_eq!(client.said(&session, "/compact"), "end_turn");
    assert!(client.transcript().contains("is summed up for the model"), "{}", client.transcript());
    assert_eq!(client.said(&session, "count on"), "end_turn");
    assert!(client.transcript().contains("Answer 7."), "{}", client.transcript());
}

#[test]
pub(crate) fn the_diff_of_what_ran_ahead_is_shown_before_it_is_taken() {
    let user = User::with_suggestion().writes("tests.txt", "a test\n").says("Tests are there.");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    client.said(&session, "begin");
    client.suggested("add tests", Some("ready"));
    client.said(&session, "/diff");
    assert!(client.transcript().contains(r"+a test\n```"), "{}", client.transcript());
    client.said(&session, "add tests");
    assert!(user.read("tests.txt").is_some(), "to look changes nothing");
}

#[test]
pub(crate) fn what_is_off_suggests_nothing() {
    let user = User::with_suggestion();
    let can = json!({ "session": { "configOptions": { "boolean": {} }, "notices": {} } });
    let mut client = user.client_that(can, "auto-edit");
    let session = client.open(&user.session);
    let set =
        json!({ "sessionId": session, "configId": "headstart_ahead", "type": "boolean", "value": false });
    let answer = client.request("session/set_config_option", set);
    let option = &answer["result"]["configOptions"][2];
    assert_eq!((&option["type"], &option["currentValue"]), (&json!("boolean"), &json!(false)), "{answer}");
    client.said(&session, "begin");
    while let Some(message) = client.next_within(Duration::from_millis(700)) {
        assert!(!message.to_string().contains("add tests"), "{message}");
    }
}

#[test]
pub(crate) fn every_candidate_is_told_in_its_order() {
    let look = json!({ "file_path": "notes.txt" });
    let user = User::new()
        .calls("read_file", look)
        .says("First answer.")
        .suggests("add tests\ncommit this\nCommit and push")
        .writes("tests.txt", "tests\n")
        .says("Tests are written.")
        .says("It is pushed.");
    user.session.write("home/.config/headstart/config.toml", "candidates = 3\n");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    client.said(&session, "begin");
    client.suggested("add tests", Some("ready"));
    let update = client.log.iter().rfind(|(_, message)| is_update(message, "session_info_update")).unwrap();
    let candidates =
        update.1["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"].as_array().unwrap();
    let texts: Vec<_> = candidates.iter().map(|candidate| candidate["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["add tests", "commit this", "Commit and push"]);
    client.said(&session, "Commit and push");
    assert_eq!(user.read("tests.txt"), None, "the work of the first is given up");
}
