//! Holds that messages pass through the proxy unchanged.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use super::{User, json};

/// Sends lines as an editor does, and returns this many lines of the answer. The command is the agent alone or the
/// agent behind the proxy.
fn exchange(mut command: Command, lines: &[String], answers: usize) -> Vec<String> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || {
        for line in lines {
            input.write_all(line.as_bytes()).unwrap();
            input.write_all(b"\n").unwrap();
        }
        input
    });
    let read: Vec<String> = output.lines().map_while(Result::ok).take(answers).collect();
    drop(writer.join().unwrap());
    assert!(child.wait().unwrap().success());
    read
}

#[test]
fn what_passes_is_byte_for_byte_what_it_was() {
    let odd = r#"{"a" : 1.0,"b":1e400,"z":12345678901234567890,"\u0061":"\ud83d\ude00","_meta":{"x":[ ]}}"#;
    let steps = json!([
        { "line": format!(r#"{{"method":"session/update", "jsonrpc":"2.0","params":{{"sessionId":"x","update":{odd}}}}}"#) },
        { "line": "not a message at all" },
        { "line": "" },
        { "line": r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"# },
        { "line": r#"{"jsonrpc":"2.0","method":"_vendor/thing","params":null}"# },
        { "line": r#"{"jsonrpc":"2.0","id":"q","method":"_vendor/ask","params":{"sessionId":"x"}}"# },
        { "line": r#"{"jsonrpc":"2.0","id":99,"result":{"nobody":"asked"}}"# },
        { "many": 300 },
        { "say": "x".repeat(300_000) },
        { "say": "done" },
    ]);
    let user = User::with_agent("some-agent", json!({ "go": steps }));
    let mut lines = vec![
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"_meta":{"odd":[1.0,{}]}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":"two","method":"_vendor/echo","params":{odd}}}"#),
        r#"{"jsonrpc":"2.0","id":3,"method":"no/such","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"_vendor/told"}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":4,"method":"_echo","params":{{"big":"{}"}}}}"#, "y".repeat(3_000_000)),
    ];
    let loaded = json!({ "jsonrpc": "2.0", "id": 5, "method": "session/load", "params": { "sessionId": "kept", "cwd": user.session.workspace(), "mcpServers": [] } });
    user.session.write("home/.claude/projects/kept.json", r#"[["user","before"]]"#);
    lines.push(loaded.to_string());
    for id in 6..60 {
        let prompt = json!([{ "type": "text", "text": if id == 6 { "go" } else { "again" } }]);
        lines.push(json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": { "sessionId": "kept", "prompt": prompt } }).to_string());
    }
    let all = 4 + 2 + (7 + 300 + 2 + 1) + 53 * 2;
    let given = user.session.command(&[]);
    let mut alone = Command::new(user.session.home().join("bin/some-agent"));
    alone
        .env_clear()
        .envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(user.session.workspace());
    let direct = exchange(alone, &lines, all);
    assert_eq!(direct.len(), all, "{direct:?}");
    user.session.write("home/.claude/projects/kept.json", r#"[["user","before"]]"#);
    let through = exchange(user.session.command(&["acp-proxy", "--", "some-agent"]), &lines, all);
    assert!(direct == through, "they differ");
}

#[test]
fn an_agent_that_is_not_known_is_said_so_once() {
    let user = User::with_agent("some-agent", json!({}));
    let lines = [r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#.to_owned() + "\n"];
    let outcome = user.session.run_with_input(&["acp-proxy", "--", "some-agent"], lines.concat());
    assert_eq!(outcome.stderr.matches("nothing runs ahead").count(), 1, "{outcome}");
    assert!(outcome.stdout.contains("protocolVersion"), "{outcome}");
    let quiet = user
        .session
        .run_with_input(&["acp-proxy", "--suggestions", "off", "--", "some-agent"], lines.concat());
    assert_eq!((quiet.stderr.as_str(), quiet.code), ("", Some(0)));
}

#[test]
fn an_agent_that_suggests_is_shown_in_every_editor() {
    let suggests = json!({ "sessionUpdate": "session_info_update", "title": "A title",
        "_meta": { "promptSuggestions": { "suggestions": [{ "text": "run the tests" }] }, "jetbrains": { "air": { "x": 1 } }, "other": 1 } });
    let user = User::with_agent("some-agent", json!({ "hello": [{ "say": "Hi." }, { "update": suggests }] }));
    let mut client = user.start(&["--suggestions", "agent"], &["some-agent"]);
    let answer =
        client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": { "fs": {} } }));
    let seen = answer["result"]["_meta"]["seen"].as_str().unwrap();
    let seen: serde_json::Value = serde_json::from_str(seen).unwrap();
    assert_eq!(
        seen["clientCapabilities"],
        json!({ "fs": {}, "_meta": { "jetbrains": { "air": {} } } }),
        "it is told that somebody shows them"
    );
    let session = client.open(&user.session);
    let from = client.log.len();
    assert_eq!(client.said(&session, "hello"), "end_turn");
    let updates: Vec<_> =
        client.log[from..].iter().filter(|(own, _)| !own).map(|(_, message)| message.clone()).collect();
    let update = |message: &serde_json::Value| message["params"]["update"].clone();
    assert_eq!(
        update(&updates[1]),
        json!({ "sessionUpdate": "session_info_update", "title": "A title", "_meta": { "other": 1 } })
    );
    assert_eq!(
        update(&updates[2])["_meta"]["promptSuggestions"]["suggestions"],
        json!([{ "text": "run the tests" }])
    );
    let next = json!({ "name": "next", "description": "run the tests" });
    assert_eq!(
        update(&updates[3])["availableCommands"],
        json!([next, { "name": "own", "description": "a command of the agent's" }])
    );
    // Nothing runs ahead for the suggestion, so taking it sends its text as a prompt.
    let from = client.log.len();
    assert_eq!(client.said(&session, "/next"), "end_turn");
    assert_eq!(super::answer_text(&client, from), "Hello there.");
    let content =
        std::fs::read_to_string(user.session.home().join(".claude/projects").join(format!("{session}.json")))
            .unwrap();
    assert!(content.contains(r#"["user", "run the tests"]"#), "{content}");
}

#[test]
fn what_is_switched_off_is_off() {
    let script = json!({ "hello": [{ "say": "one" }, { "say": "two" }], "suggest": [{ "say": "{\"suggestion\": \"write it\"}" }] });
    for (variable, value, arguments) in [
        ("HEADSTART_BACKGROUND", "off", &[][..]),
        ("HEADSTART_SUGGEST", "off", &[]),
        ("X", "", &["--suggestions", "off"]),
    ] {
        let user = User::new(script.clone());
        let user = User { session: user.session.variable(variable, value) };
        let mut client = user.start(arguments, &["claude-agent-acp"]);
        client.request("initialize", json!({ "protocolVersion": 1 }));
        let session = client.open(&user.session);
        for _ in 0..3 {
            assert_eq!(client.said(&session, "hello"), "end_turn");
        }
        client.request("_flush", json!({}));
        assert_eq!(client.end(), Some(0));
        assert_eq!(user.stored_sessions(), [session], "no fork was made: {variable}");
        assert!(!client.log.iter().any(|(_, message)| message.to_string().contains("promptSuggestions")));
    }
}

/// All updates have to arrive; how fast they do is only printed.
#[test]
fn thirty_thousand_updates_come_through() {
    let user = User::with_agent("some-agent", json!({ "go": [{ "many": 30_000 }] }));
    let mut client = user.start(&["--suggestions", "off"], &["some-agent"]);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let session = client.open(&user.session);
    let started = std::time::Instant::now();
    let from = client.log.len();
    assert_eq!(client.said(&session, "go"), "end_turn");
    let rate = 30_000.0 / started.elapsed().as_secs_f64();
    assert_eq!(super::answer_text(&client, from).len(), 30_000 * "word ".len());
    let mut trips: Vec<_> = (0..200)
        .map(|_| {
            let started = std::time::Instant::now();
            client.request("_echo", json!({}));
            started.elapsed()
        })
        .collect();
    trips.sort();
    println!("{rate:.0} updates a second; a request and its answer: median {:?}", trips[100]);
}
