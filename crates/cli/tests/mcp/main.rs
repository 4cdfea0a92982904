//! Holds how `headstart mcp` answers a client that reads and writes plain lines, without a library of the protocol.
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

#[path = "../acp/client.rs"]
mod client;
#[cfg(unix)]
mod hostile;
mod input;
mod outcomes;
mod products;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use client::Client;
use support::{PATIENCE, Session, installed, processes, recorded};

/// A user whose project has one file.
fn user() -> Session {
    let session = Session::new();
    session.write("project/notes.txt", "one\n");
    session
}

fn served(session: &Session, flags: &[&str], can: Value) -> Client {
    let arguments: Vec<_> = ["mcp"].iter().chain(flags).copied().collect();
    let mut client = Client::of(session.command(&arguments));
    let info = json!({ "name": "test", "version": "1" });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": can, "clientInfo": info });
    let answer = client.request("initialize", begin);
    assert_eq!(answer["result"]["serverInfo"]["name"], "headstart", "{answer}");
    client.notify("notifications/initialized", json!({}));
    client
}

fn here(session: &Session) -> Client {
    let workspace = session.workspace();
    served(session, &["--workspace", workspace.to_str().unwrap()], json!({}))
}

/// The arguments of a server for the user's project.
fn here_arguments(session: &Session) -> [String; 3] {
    [
        "mcp".to_owned(),
        "--workspace".to_owned(),
        session.workspace().canonicalize().unwrap().display().to_string(),
    ]
}

/// Calls a tool. An answer is said once, as text of a size that a model can take.
fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    if let Some(result) = answer.get("result") {
        assert_eq!(result.get("structuredContent"), None, "{tool}: {answer}");
        assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{tool}: {answer}");
        assert!(text(&answer).len() <= 30_000, "{tool}: {answer}");
    }
    answer
}

/// The text of an answer.
fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The answer of a call that does not fail. Its text is JSON.
fn answer(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let answer = call(client, tool, arguments);
    assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
    serde_json::from_str(text(&answer)).unwrap()
}

#[test]
fn the_page_shows_a_judged_command_and_one_that_is_run() {
    let session = user();
    let mut client = here(&session);
    for (tool, command) in
        [("judge", "rm -r build"), ("run_read_only", "wc -l notes.txt"), ("run_read_only", "touch x")]
    {
        answer(&mut client, tool, json!({ "command": command }));
    }
    recorded("mcp.md", &session.redact(&client.transcript()).replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

/// Runs work ahead that writes a file and is kept. Returns its id.
fn speculated(session: &Session) -> String {
    speculated_by(session, json!({ "file_path": "new.txt", "content": "new\n" }))
}

fn speculated_by(session: &Session, args: Value) -> String {
    let write = json!({ "name": "write_file", "args": args });
    let turns = json!([{ "text": "", "toolCalls": [write] }, { "text": "Done." }]);
    session.write("home/recording.json", json!({ "turns": turns, "suggestions": [] }).to_string());
    let model = format!("replay:{}", session.home().join("recording.json").display());
    let outcome = session.run(&["speculate", "--json", "--mode", "auto-edit", "--model", &model, "write it"]);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome}");
    session.run(&["list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn tools_say_what_they_do_in_few_words() {
    let session = user();
    let mut client = here(&session);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "judge",
        "run_read_only",
        "search_code",
        "diagnostics",
        "try_in_shadow",
        "ahead_list",
        "ahead_show",
        "ahead_diff",
        "ahead_accept",
    ];
    assert_eq!(names, expected);
    for tool in tools.as_array().unwrap() {
        let changes = tool["name"] == "ahead_accept";
        assert_eq!(tool["annotations"]["readOnlyHint"], !changes, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], changes, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool.get("outputSchema"), None, "{tool}");
    }
    assert!(tools.to_string().len() < 6_000, "{}", tools.to_string().len());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_command_is_judged_and_runs_only_if_it_reads() {
    let session = user();
    let mut client = here(&session);
    let verdict = answer(&mut client, "judge", json!({ "command": "cat notes.txt" }));
    assert_eq!(verdict["decision"], "allow", "{verdict}");
    let verdict = answer(
        &mut client,
        "judge",
        json!({ "tool": "write_file", "args": { "file_path": "x", "content": "" } }),
    );
    assert_eq!(verdict["decision"], "boundary", "{verdict}");
    let ran = answer(&mut client, "run_read_only", json!({ "command": "cat notes.txt; cat gone" }));
    assert_eq!(
        (&ran["ran"], &ran["exitCode"], &ran["output"]),
        (&json!(true), &json!(1), &json!("one\n")),
        "{ran}"
    );
    assert!(ran["errors"].as_str().unwrap().contains("gone"), "{ran}");
    let not = answer(&mut client, "run_read_only", json!({ "command": "touch x" }));
    assert_eq!(not["ran"], false, "{not}");
    assert!(!not["why"].as_str().unwrap().is_empty() && !session.workspace().join("x").exists());
    // Of a long output both ends are returned, and the exit code.
    let long = answer(&mut client, "run_read_only", json!({ "command": "seq 100000; cat gone" }));
    let output = long["output"].as_str().unwrap();
    assert_eq!((&long["truncated"], &long["exitCode"]), (&json!(true), &json!(1)));
    assert!(output.starts_with("1\n2\n") && output.ends_with("99999\n100000\n"), "{output}");
    assert!(output.contains(" bytes left out …]") && 20_000 < output.len(), "{output}");
}

#[test]
fn what_ran_ahead_is_listed_shown_and_accepted_or_conflicts() {
    let session = user();
    let id = speculated(&session);
    let mut client = here(&session);
    let listed = answer(&mut client, "ahead_list", json!({}));
    assert_eq!(listed["speculations"][0]["id"], id.as_str(), "{listed}");
    assert_eq!(answer(&mut client, "ahead_show", json!({ "id": id }))["status"], "completed");
    let diff = answer(&mut client, "ahead_diff", json!({ "id": id }));
    assert!(diff["files"][0]["diff"].as_str().unwrap().contains("+new"), "{diff}");
    session.write("project/new.txt", "mine\n");
    let conflict = call(&mut client, "ahead_accept", json!({ "id": id }));
    assert_eq!(conflict["result"]["isError"], true, "{conflict}");
    assert!(text(&conflict).contains(r#""type":"conflict""#), "{conflict}");
    assert_eq!(std::fs::read_to_string(session.workspace().join("new.txt")).unwrap(), "mine\n");
    std::fs::remove_file(session.workspace().join("new.txt")).unwrap();
    let accepted = answer(&mut client, "ahead_accept", json!({ "id": id }));
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    assert_eq!(std::fs::read_to_string(session.workspace().join("new.txt")).unwrap(), "new\n");
    let again = call(&mut client, "ahead_show", json!({ "id": "nothing" }));
    assert_eq!(again["result"]["isError"], true, "{again}");
    assert!(again["result"]["content"][0]["text"].as_str().unwrap().contains("nothing"), "{again}");
}

#[test]
fn a_command_that_writes_is_tried_in_a_view() {
    let session = user();
    let mut client = here(&session);
    let tried = answer(
        &mut client,
        "try_in_shadow",
        json!({ "command": "echo two >> notes.txt; cat notes.txt; exit 3" }),
    );
    assert_eq!((&tried["exitCode"], &tried["output"]), (&json!(3), &json!("one\ntwo\n")), "{tried}");
    // More than is kept of it does not take away how it ended.
    let long = json!({ "command": "yes | head -c 20000000; echo last; exit 7" });
    let tried_long = answer(&mut client, "try_in_shadow", long);
    assert_eq!(tried_long["exitCode"], 7, "{tried_long}");
    assert!(tried_long["output"].as_str().unwrap().ends_with("y\nlast\n"), "{tried_long}");
    assert_eq!(tried["changes"][0]["path"], "notes.txt", "{tried}");
    assert_eq!(std::fs::read_to_string(session.workspace().join("notes.txt")).unwrap(), "one\n");
}

#[test]
#[cfg_attr(not(feature = "programs"), ignore = "needs python3; the feature `programs` runs it")]
fn a_language_server_says_what_work_ahead_would_break() {
    let session = user().variable("HEADSTART_SHADOW", "");
    session.write("server/mock", include_str!("../support/language_server.py"));
    let server = session.workspace().with_file_name("server").join("mock").canonicalize().unwrap();
    std::fs::set_permissions(&server, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let settings = format!(
        "[code-intel.servers.mock]\ncommand = '{}'\nargs = ['good']\nlanguages = {{ mock = 'mock' }}\nsettling = 'versions'\n",
        server.display()
    );
    session.write("home/.config/headstart/config.toml", settings);
    session.write("project/a.mock", "one\nERR here\n");
    let id = speculated_by(&session, json!({ "file_path": "new.mock", "content": "ERR new\n" }));
    let mut client = here(&session);
    let found = answer(&mut client, "diagnostics", json!({ "files": ["a.mock"] }));
    let old = &found["old"][0];
    assert_eq!((&old["path"], &old["line"]), (&json!("a.mock"), &json!(2)), "{found}");
    assert_eq!((&old["message"], &found["newErrors"]), (&json!("ERR here"), &json!(0)), "{found}");
    // New errors are part of the answer, not a failure of the call.
    let found = answer(&mut client, "diagnostics", json!({ "files": ["new.mock"], "id": id }));
    assert_eq!((&found["newErrors"], &found["new"][0]["message"]), (&json!(1), &json!("ERR new")), "{found}");
    for files in [json!(["../a.mock"]), json!([])] {
        let refused = call(&mut client, "diagnostics", json!({ "files": files }));
        assert!(refused.get("error").is_some() || refused["result"]["isError"] == true, "{refused}");
    }
}

#[test]
fn the_project_is_searched() {
    let session = user();
    session.write("project/src/login.py", "def check_password(user):\n    return user\n");
    let mut client = here(&session);
    let found = call(&mut client, "search_code", json!({ "query": "check_password", "limit": 3 }));
    let expected = "src/login.py:1-2 check_password\n1: def check_password(user):\n2:     return user\n";
    assert_eq!(found["result"]["content"], json!([{ "type": "text", "text": expected }]), "{found}");
}

/// Waits until no process is left whose command line contains `marker`.
fn wait_for_none(marker: &str) {
    let began = Instant::now();
    loop {
        if !processes().iter().any(|(_, line)| line.contains(marker)) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{marker} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_call_that_is_cancelled_or_too_long_leaves_nothing() {
    let session = user();
    let mut client = here(&session);
    // The number contains the id of this process, so no other test sleeps for it.
    let marker = format!("sleep 7{}", std::process::id());
    let token = json!({ "progressToken": "p" });
    let call = json!({ "name": "try_in_shadow", "arguments": { "command": marker }, "_meta": token });
    let id = client.ask("tools/call", call);
    let progress = client.until("progress", |message| message["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p", "{progress}");
    client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    wait_for_none(&marker);
    let limited = json!({ "command": marker, "timeoutSeconds": 1 });
    let late = client.request("tools/call", json!({ "name": "try_in_shadow", "arguments": limited }));
    assert!(late["result"]["content"][0]["text"].as_str().unwrap().contains("1 seconds"), "{late}");
    wait_for_none(&marker);
    client.ask("tools/call", json!({ "name": "try_in_shadow", "arguments": { "command": marker } }));
    std::thread::sleep(Duration::from_millis(300));
    // A client that hangs up also ends its commands.
    client.end();
    wait_for_none(&marker);
}

#[test]
fn what_a_killed_server_was_running_ends() {
    let session = user();
    let mut client = here(&session);
    let sleep = format!("sleep 8{}", std::process::id());
    // It does not get that far.
    let count = format!("seq 1 9999999{:07}", std::process::id());
    let read = format!("{count} | wc -l; wc notes.txt");
    for (tool, command) in [("try_in_shadow", &sleep), ("run_read_only", &read)] {
        client.ask("tools/call", json!({ "name": tool, "arguments": { "command": command } }));
    }
    let began = Instant::now();
    for program in [&sleep, &count] {
        while !processes().iter().any(|(_, line)| line.starts_with(program.as_str())) {
            assert!(began.elapsed() < PATIENCE, "{program} does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.process()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for_none(&sleep);
    wait_for_none(&count);
}

#[test]
fn the_folder_is_the_one_root_of_the_client() {
    let session = user();
    let root = |path: &Path| json!({ "uri": format!("file://{}", path.display()) });
    let other = session.workspace().with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    for (roots, expected) in [
        (vec![root(&session.workspace())], Ok("one\n")),
        (vec![root(&session.workspace()), root(&other)], Err("2 roots")),
        (Vec::new(), Err("0 roots")),
        (vec![json!({ "uri": "https://example.org" })], Err("is no folder")),
    ] {
        let mut client = served(&session, &[], json!({ "roots": {} }));
        let call = json!({ "name": "run_read_only", "arguments": { "command": "cat notes.txt" } });
        let id = client.ask("tools/call", call);
        let asked = client.until("the question for roots", |message| message["method"] == "roots/list");
        client.respond(&asked, json!({ "roots": roots }));
        let answer = client.answer_to(id);
        match expected {
            Ok(output) => {
                let said: Value = serde_json::from_str(text(&answer)).unwrap();
                assert_eq!(said["output"], output, "{answer}");
            }
            Err(why) => {
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
                let error_message = answer["error"]["message"].as_str().unwrap();
                assert!(
                    error_message.contains(why) && error_message.contains("--workspace"),
                    "{error_message}"
                );
            }
        }
    }
}

/// A program that node runs. Its environment has nothing of this process.
fn node(session: &Session) -> Command {
    let mut node = Command::new(installed("node/bin/node"));
    let given = session.command(&[]);
    node.env_clear().envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    node.current_dir(session.workspace()).stdin(Stdio::null());
    node
}

/// Sets up the environment of a product whose user has an empty home.
fn node_environment(command: &mut Command, session: &Session) {
    // What the product leaves in the folder for temporary files is removed with the session.
    std::fs::create_dir_all(session.home().join("tmp")).unwrap();
    command.current_dir(session.workspace()).env_clear().env("HOME", session.home());
    command.env("PATH", format!("{}:/usr/bin:/bin", installed("node/bin").display()));
    command.env("TMPDIR", session.home().join("tmp")).env("SHELL", "/bin/bash").env("LANG", "C.UTF-8");
}

#[test]
#[ignore = "needs the protocol's npm packages; .ci/long installs them"]
fn the_protocols_own_client_and_its_inspector_call_the_tools() {
    let session = user();
    let modules = installed("node").parent().unwrap().to_owned();
    let (workspace, program) = (session.workspace().canonicalize().unwrap(), env!("CARGO_BIN_EXE_headstart"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/sdk.mjs");
    let output = node(&session).arg(script).args([&modules, &workspace]).arg(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let id = speculated(&session);
    let inspect = |arguments: &[&str]| -> Value {
        let mut inspector = node(&session);
        inspector
            .arg(installed(".bin/mcp-inspector"))
            .args(["--cli", program, "mcp", "--workspace"])
            .arg(&workspace);
        let output = inspector.args(arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 9, "{listed}");
    let id = format!("id={id}");
    let wanted = |field: &str, value: Value| (field.to_owned(), value);
    for (tool, argument, (field, value)) in [
        ("judge", "command=rm -r .", wanted("/decision", json!("boundary"))),
        ("run_read_only", "command=cat notes.txt", wanted("/output", json!("one\n"))),
        ("run_read_only", "command=touch x", wanted("/ran", json!(false))),
        ("try_in_shadow", "command=touch x", wanted("/changes/0/path", json!("x"))),
        ("ahead_show", &id, wanted("/status", json!("completed"))),
        ("ahead_accept", &id, wanted("/type", json!("accepted"))),
    ] {
        let said = inspect(&["--method", "tools/call", "--tool-name", tool, "--tool-arg", argument]);
        let said: Value = serde_json::from_str(said["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(said.pointer(&field), Some(&value), "{tool}: {said}");
    }
    assert_eq!(std::fs::read_to_string(workspace.join("new.txt")).unwrap(), "new\n");
}
