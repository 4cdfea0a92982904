//! Holds what a client can do with sessions: set modes, have several at a time, and list, load and delete those that
//! are kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::User;
use crate::client::{Client, is_update};
use crate::support::PATIENCE;

fn updates<'a>(client: &'a Client, kinds: &[&str]) -> Vec<&'a Value> {
    let all = client.log.iter().filter(|(own, _)| !own).map(|(_, message)| &message["params"]["update"]);
    all.filter(|update| kinds.iter().any(|kind| update["sessionUpdate"] == *kind)).collect()
}

#[test]
pub(crate) fn modes_are_set_in_both_ways() {
    let user = User::new().writes("a.txt", "a\n").says("Done.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    let answer = client.request("session/set_mode", json!({ "sessionId": session, "modeId": "auto-edit" }));
    assert_eq!(answer["result"], json!({}));
    let options = client.until("the options", |message| is_update(message, "config_option_update"));
    assert_eq!(options["params"]["update"]["configOptions"][0]["currentValue"], "auto-edit");
    let set = json!({ "sessionId": session, "configId": "mode", "value": "plan" });
    let answer = client.request("session/set_config_option", set);
    assert_eq!(answer["result"]["configOptions"][0]["currentValue"], "plan", "{answer}");
    let mode = client.until("the mode", |message| is_update(message, "current_mode_update"));
    assert_eq!(mode["params"]["update"]["currentModeId"], "plan");
    client.request("session/set_mode", json!({ "sessionId": session, "modeId": "auto-edit" }));
    // In this mode the agent may write without a question.
    assert_eq!(client.said(&session, "write it"), "end_turn");
    assert_eq!(user.read("a.txt").unwrap(), "a\n");
    for (option, value) in [("mode", "fast"), ("model", "openai:x"), ("headstart_ahead", "maybe"), ("x", "y")]
    {
        let set = json!({ "sessionId": session, "configId": option, "value": value });
        let answer = client.request("session/set_config_option", set);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let field = if option == "x" { "params.configId: " } else { "params.value: " };
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(field), "{answer}");
    }
    let answer = client.request("session/set_mode", json!({ "sessionId": session, "modeId": "fast" }));
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("params.modeId: "), "{answer}");
}

#[test]
pub(crate) fn another_model_answers_once_it_is_chosen() {
    let user = User::new().says("I am the first.");
    let other = json!({ "turns": [{ "text": "I am the second." }], "suggestions": [] });
    user.session.write("home/other.json", other.to_string());
    let spec = format!("replay:{}", user.session.home().join("other.json").display());
    user.session.write("home/.config/headstart/config.toml", format!("[models.\"{spec}\"]\nfree = true\n"));
    let mut client = user.client("default");
    let session = client.open(&user.session);
    client.said(&session, "who?");
    let set = json!({ "sessionId": session, "configId": "model", "value": spec });
    let answer = client.request("session/set_config_option", set);
    assert_eq!(answer["result"]["configOptions"][1]["currentValue"], spec.as_str(), "{answer}");
    client.said(&session, "and now?");
    assert!(client.transcript().contains("I am the second."), "{}", client.transcript());
}

#[test]
fn two_sessions_work_at_once_and_a_second_prompt_waits_for_nobody() {
    let mut user = User::new().turn(1_500, "Late.", None);
    user.session.write("other/x.txt", "x\n");
    let mut client = user.client("default");
    let one = client.open(&user.session);
    let other = user.session.workspace().with_file_name("other").canonicalize().unwrap();
    let two = client.request("session/new", json!({ "cwd": other, "mcpServers": [] }));
    let two = two["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(one, two);
    let (first, second) = (client.prompt(&one, "a"), client.prompt(&two, "b"));
    let third = client.prompt(&one, "c");
    let refused = client.answer_to(third);
    assert!(refused["error"]["message"].as_str().unwrap().contains("is running"), "{refused}");
    let mut left = vec![json!(first), json!(second)];
    while !left.is_empty() {
        let answer = client.until("both answers", |message| message["result"]["stopReason"] == "end_turn");
        left.retain(|id| *id != answer["id"]);
    }
    user.session.name("two", &two);
}

#[test]
pub(crate) fn a_session_is_listed_loaded_resumed_forked_closed_and_deleted() {
    let look = json!({ "file_path": "notes.txt" });
    let user = User::new().says("One.").calls("read_file", look).says("Two.").says("Three.");
    let cwd = user.session.workspace().canonicalize().unwrap();
    let mut client = user.client("default");
    let session = client.open(&user.session);
    client.said(&session, "first");
    client.said(&session, "second");
    let said = |client: &Client| -> Vec<String> {
        let told = updates(client, &["user_message_chunk", "agent_message_chunk", "tool_call"]);
        told.iter()
            .map(|update| update["content"]["text"].as_str().or(update["title"].as_str()).unwrap().to_owned())
            .collect()
    };
    assert_eq!(client.end(), Some(0));
    let mut client = user.client("default");
    for filter in [json!({}), json!({ "cwd": cwd })] {
        let listed = client.request("session/list", filter);
        let listed = &listed["result"]["sessions"];
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!((&listed[0]["sessionId"], &listed[0]["title"]), (&json!(session), &json!("first")));
        assert_eq!(listed[0]["cwd"], json!(cwd));
        assert!(listed[0]["updatedAt"].as_str().unwrap().starts_with("20"), "{listed}");
    }
    let named = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let loaded = client.request("session/load", named.clone());
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "default", "{loaded}");
    assert_eq!(said(&client), ["first", "One.", "second", "read notes.txt", "Two."]);
    // A resume does not send the conversation again, and a session that is already open is not opened twice.
    let before = client.log.len();
    client.request("session/resume", named);
    let told = client.log[before..].iter().filter(|(_, message)| is_update(message, "user_message_chunk"));
    assert_eq!(told.count(), 0);
    let forked =
        client.request("session/fork", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    let fork = forked["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{forked}")).to_owned();
    assert_ne!(fork, session);
    let listed = client.request("session/list", json!({ "cwd": cwd }));
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(client.request("session/close", json!({ "sessionId": fork }))["result"], json!({}));
    let closed = client.request("session/prompt", json!({ "sessionId": fork, "prompt": [] }));
    assert_eq!(closed["error"]["code"], -32602, "{closed}");
    for id in [&fork, &session] {
        assert_eq!(client.request("session/delete", json!({ "sessionId": id }))["result"], json!({}));
    }
    let listed = client.request("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"], json!([]));
    let gone = client.request("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}

#[test]
fn a_session_that_is_open_elsewhere_is_refused_with_what_an_editor_can_do() {
    let user = User::new().says("One.");
    let mut first = user.client("default");
    let session = first.open(&user.session);
    first.said(&session, "first");
    let mut second = user.client("default");
    let cwd = user.session.workspace().canonicalize().unwrap();
    let named = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    for method in ["session/load", "session/resume", "session/fork", "session/delete"] {
        let answer = second.request(method, named.clone());
        let said = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!said.contains("--"), "an editor's user cannot add a flag: {said}");
        if method == "session/load" || method == "session/resume" {
            assert!(said.contains("is open in another program; close it there"), "{method}: {answer}");
        }
    }
}

#[test]
fn a_command_ends_with_a_killed_headstart() {
    let line = "sleep 300 & echo $! > child.txt; echo $$ > own.txt; wait; touch late.txt";
    let user = User::new().calls("shell", json!({ "command": line })).says("Done.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    client.prompt(&session, "run it");
    client.answer_question("allow");
    // A zombie does not run.
    let runs = |file: &str| {
        let Some(id) = user.read(file).filter(|id| id.ends_with('\n')) else { return false };
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until("it starts", &|| runs("own.txt") && runs("child.txt"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.process()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until("it ends", &|| !runs("own.txt") && !runs("child.txt"));
    assert_eq!(user.read("late.txt"), None);
}

#[test]
pub(crate) fn without_a_model_its_user_is_told_what_to_do() {
    let user = User::new().says("hello");
    let can = json!({ "auth": { "terminal": true } });
    let mut client = Client::start(&user.session, &[]);
    let answer = client.request("initialize", json!({ "protocolVersion": 9, "clientCapabilities": can }));
    assert_eq!(answer["result"]["protocolVersion"], 1);
    assert_eq!(answer["result"]["authMethods"][0]["type"], "terminal", "{answer}");
    let cwd = user.session.workspace();
    for (method, params) in [
        ("session/new", json!({ "cwd": cwd, "mcpServers": [] })),
        ("authenticate", json!({ "methodId": "headstart-setup" })),
    ] {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], -32000, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("HEADSTART_MODEL"), "{answer}");
    }
    let model = user.model();
    // The protocol appends the arguments of the login method, but the registry replaces the agent's arguments by them.
    for arguments in [&["acp", "--setup"][..], &["--setup"]] {
        let setup = user.session.run(arguments);
        assert!(setup.code != Some(0) && setup.stdout.contains("headstart chat"), "{setup}");
        let setup = user.session.run(&[arguments, &["--model", &model]].concat());
        assert_eq!(setup.code, Some(0), "{setup}");
    }
}

#[test]
pub(crate) fn the_check_of_the_registry_finds_a_way_to_log_in() {
    let user = User::new();
    for (can, finds) in [
        // The capabilities that the registry's `client.py` sends.
        (
            json!({
                "terminal": true, "fs": { "readTextFile": true, "writeTextFile": true },
                "_meta": { "terminal_output": true, "terminal-auth": true }
            }),
            true,
        ),
        (json!({ "terminal": true, "_meta": { "terminal-auth": false } }), false),
        (json!({ "_meta": { "terminal-auth": "yes" } }), false),
    ] {
        let mut client = Client::start(&user.session, &[]);
        let validator = json!({ "name": "ACP Registry Validator", "version": "1.0.0" });
        let params = json!({ "protocolVersion": 1, "clientInfo": validator, "clientCapabilities": can });
        let answer = client.request("initialize", params);
        let methods = answer["result"]["authMethods"].as_array().unwrap();
        assert_eq!(methods.iter().any(|method| method["type"] == "terminal"), finds, "{answer}");
        let Some(method) = methods.first() else { continue };
        // Clients that know the login method by its older name run this command.
        let entry = &method["_meta"]["terminal-auth"];
        let mut command = user.session.command(&[]);
        assert_eq!(entry["command"], command.get_program().to_str().unwrap(), "{answer}");
        let arguments = entry["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
        let output = command.args(arguments).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("headstart chat"), "{output:?}");
    }
}

#[test]
pub(crate) fn servers_of_the_editor_are_tools_of_the_session() {
    let user = User::new().calls("mcp__My_t__send", json!({ "text": "hello" })).says("It is sent.");
    user.session.write("home/server.sh", include_str!("../support/tool_server.sh"));
    let (script, log) = (user.session.home().join("server.sh"), user.session.home().join("server.log"));
    let mut client = user.client("auto-edit");
    let cwd = user.session.workspace();
    let env = json!([{ "name": "LOG", "value": log }]);
    let server = json!({ "name": "My t", "command": "bash", "args": [script], "env": env });
    let answer = client.request("session/new", json!({ "cwd": cwd, "mcpServers": [server] }));
    let session = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let id = client.prompt(&session, "send it");
    client.answer_question("allow");
    client.answer_to(id);
    assert_eq!(std::fs::read_to_string(&log).unwrap().matches("tools/call").count(), 1);
    let headers = json!([{ "name": "Authorization", "value": "Bearer x" }]);
    for (server, field) in [
        (json!({ "type": "http", "name": "h", "url": "http://localhost:1", "headers": headers }), "headers"),
        (json!({ "type": "sse", "name": "h", "url": "http://localhost:1", "headers": [] }), "type"),
        (json!({ "name": "…", "command": "x", "args": [], "env": [] }), "name"),
    ] {
        let answer = client.request("session/new", json!({ "cwd": cwd, "mcpServers": [server] }));
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.starts_with(&format!("params.mcpServers[0].{field}: ")), "{message}");
    }
}

/// A server that does not start keeps nobody from a session: the first prompt waits for it, can be taken back meanwhile,
/// and runs when the start has failed.
#[test]
fn a_tool_server_that_hangs_keeps_no_session_waiting() {
    let user = User::new().says("I have no such tool.");
    let mut client = user.client("default");
    let cwd = user.session.workspace().canonicalize().unwrap();
    let go = cwd.join("go");
    let hangs = format!("until test -e '{}'; do sleep 0.02; done", go.display());
    let hung = json!([{ "name": "hung", "command": "/bin/sh", "args": ["-c", hangs], "env": [] }]);
    let answer = client.request("session/new", json!({ "cwd": cwd, "mcpServers": hung }));
    let session = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    assert_eq!(client.said(&session, "/mcp"), "end_turn");
    assert!(client.transcript().contains("The tool servers are being started."), "{}", client.transcript());
    let waiting = client.prompt(&session, "use it");
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.answer_to(waiting)["result"]["stopReason"], "cancelled");
    assert!(!client.transcript().contains("I have no such tool."), "it was not asked");
    let waiting = client.prompt(&session, "use it");
    std::fs::write(&go, "").unwrap();
    assert_eq!(client.answer_to(waiting)["result"]["stopReason"], "end_turn");
    assert!(client.transcript().contains("I have no such tool."), "{}", client.transcript());
}

/// Silence is told with its reason: to a client that shows notices, in what it reads besides, and to whoever asks.
#[test]
fn why_nothing_is_suggested_is_told() {
    let user = User::new().says("One.").says("Two.");
    let can = json!({ "session": { "notices": {} } });
    let mut client = user.client_that(can, "plan");
    let session = client.open(&user.session);
    client.said(&session, "first");
    client.said(&session, "second");
    let informed = updates(&client, &["session_info_update"]);
    let codes: Vec<_> = informed
        .iter()
        .filter_map(|update| update["_meta"]["headstart"]["unsuggested"]["code"].as_str())
        .collect();
    assert!(!codes.is_empty() && codes.iter().all(|code| *code == "plan_mode"), "{informed:?}");
    for command in ["/background", "/ahead"] {
        client.said(&session, command);
        assert!(
            client.transcript().contains("Nothing is suggested now: plan mode"),
            "{}",
            client.transcript()
        );
    }
    assert_eq!(client.said(&session, "/next"), "end_turn");
    assert!(client.transcript().contains("Nothing is suggested now: plan mode"));
    let notices = updates(&client, &["notice"]);
    let reasons: Vec<_> =
        notices.iter().filter(|notice| notice.to_string().contains("nothing is suggested")).collect();
    assert_eq!(reasons.len(), 1, "once: {reasons:?}");
}
