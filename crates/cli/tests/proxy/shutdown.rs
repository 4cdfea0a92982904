//! Holds how the proxy ends: when the editor ends first, when the agent ends first, and when it is killed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{AGENT, User, assert_nothing_is_left, json, kill, list_sessions, processes};
use crate::support::PATIENCE;

#[test]
fn an_agent_that_dies_is_told_with_its_last_words() {
    let user = User::with_agent("some-agent", json!({ "die": [{ "say": "I go." }, { "exit": 7 }] }));
    let mut client = user.start(&[], &["some-agent"]);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let session = client.open(&user.session);
    let id = client.prompt(&session, "die");
    let answer = client.answer_to(id);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("exit code 7") && message.contains("the last words"), "{message}");
    assert_eq!(client.end(), Some(7));
}

#[test]
fn an_agent_that_is_not_there_is_told_so() {
    let user = User::with_agent("some-agent", json!({}));
    let mut client = user.start(&[], &["no-such-agent"]);
    let answer = client.request("initialize", json!({ "protocolVersion": 1 }));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("no-such-agent cannot be started"), "{message}");
    assert_eq!(client.end(), Some(127));
    let usage = user.session.run(&["acp-proxy"]);
    assert_eq!(usage.code, Some(2), "{usage}");
}

/// A user whose Node.js has this version, and whose agent requires version 22 or later.
fn user_of_node(version: &str) -> User {
    let user = User::with_agent("other", json!({ "die": [{ "say": "I go." }, { "exit": 7 }] }));
    let (session, home) = (&user.session, user.session.home());
    let node =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && {{ echo v{version}; exit; }}\nexec python3 \"$@\"\n");
    session.write("home/bin/node", node);
    let (_, agent) = AGENT.split_once('\n').unwrap();
    session.write("home/lib/agent/dist/index.js", format!("#!/usr/bin/env node\n{agent}"));
    let manifest =
        json!({ "name": "@some/agent", "version": "2.0.0", "engines": { "node": ">=22.1 || ^20.9" } });
    session.write("home/lib/agent/package.json", manifest.to_string());
    std::os::unix::fs::symlink("../lib/agent/dist/index.js", home.join("bin/some-agent")).unwrap();
    for program in ["bin/node", "lib/agent/dist/index.js"] {
        std::fs::set_permissions(home.join(program), PermissionsExt::from_mode(0o755)).unwrap();
    }
    user
}

#[test]
fn a_node_that_is_too_old_for_the_agent_is_named() {
    for (version, is_named) in [("18.20.2", true), ("22.0.9", true), ("22.1.0", false), ("20.10.0", false)] {
        let user = user_of_node(version);
        let mut client = user.start(&[], &["some-agent"]);
        client.request("initialize", json!({ "protocolVersion": 1 }));
        let session = client.open(&user.session);
        let id = client.prompt(&session, "die");
        let answer = client.answer_to(id);
        let message = answer["error"]["message"].as_str().unwrap();
        let node = user.session.home().join("bin/node").display().to_string();
        let named = format!("@some/agent 2.0.0 wants Node.js >=22.1 || ^20.9, and {node} is {version}");
        assert_eq!(message.contains(&named), is_named, "{message}");
    }
}

#[test]
fn an_agent_that_npm_would_choose_for_an_old_node_is_named_before_it_speaks() {
    let user = user_of_node("18.20.2");
    user.session.write("home/bin/npx", "#!/bin/sh\nexec sleep 60\n");
    std::fs::set_permissions(user.session.home().join("bin/npx"), PermissionsExt::from_mode(0o755)).unwrap();
    for (package, chooses) in [
        ("@agentclientprotocol/claude-agent-acp", true),
        ("@agentclientprotocol/claude-agent-acp@0.101.0", false),
    ] {
        let mut proxy = user.session.command(&["acp-proxy", "--", "npx", "--yes", package]);
        let mut proxy = proxy.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(proxy.stderr.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).find(|line| line.contains("wants Node.js")).unwrap();
        assert!(said.contains(package) && said.contains("is 18.20.2"), "{said}");
        assert_eq!(said.contains("an older version"), chooses, "{said}");
        drop(proxy.stdin.take());
        proxy.wait().unwrap();
    }
    let doctor = user.session.run(&["doctor", "--json"]);
    assert!(!doctor.stdout.contains("\"agents\""), "none that is known is installed: {doctor}");
    std::os::unix::fs::symlink("some-agent", user.session.home().join("bin/claude-agent-acp")).unwrap();
    let doctor = user.session.run(&["doctor", "--json"]);
    let agents = doctor.json().into_iter().find(|line| line["name"] == "agents").unwrap();
    assert_eq!(agents["state"], "limited", "{agents}");
    assert!(agents["help"].as_str().unwrap().contains("wants Node.js >=22.1"), "{agents}");
}

#[test]
fn it_ends_with_its_editor_and_so_does_the_agent() {
    let user = User::with_agent("some-agent", json!({ "wait": [{ "sleep": 600 }] }));
    // A turn is running, so the agent does not notice the end of its input.
    let mut client = user.start(&[], &["some-agent"]);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let session = client.open(&user.session);
    client.prompt(&session, "wait");
    assert_eq!(client.end(), Some(0));
    assert_nothing_is_left(&user.session);
    let mut command = user.session.command(&["acp-proxy", "--", "some-agent"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while processes(&user.session) < 2 {
        assert!(Instant::now() < deadline, "it does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let input = child.stdin.take();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = child.wait().unwrap();
    drop(input);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15), "{ended}");
    assert_nothing_is_left(&user.session);
}

#[test]
fn a_killed_proxy_leaves_nothing_after_the_next_start() {
    // The moments are before, while and after the fork is made.
    killed_after(&[0, 50, 150, 300, 600, 1200]);
}

#[test]
#[ignore = "takes minutes; .ci/long runs it"]
fn a_proxy_that_is_killed_at_fifty_moments_leaves_nothing() {
    let mut seed = 4711_u64;
    let mut moments = Vec::new();
    for _ in 0..50 {
        // The numbers are the same in each run.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        moments.push((seed >> 33) % 1500);
    }
    killed_after(&moments);
}

/// Kills the proxy at each of these times (in milliseconds) after the first turn: while a fork is made, is asked or
/// works, or while its work is taken.
fn killed_after(moments: &[u64]) {
    let work = json!([{ "write": "made.txt", "content": "made\n" }, { "sleep": 0.2 }, { "run": "echo x > by-shell.txt" }, { "sleep": 600 }]);
    let user = User::with_next(work);
    let before = user.session.tree();
    for (number, millis) in moments.iter().enumerate() {
        let (mut client, session) = user.after_hello();
        std::thread::sleep(Duration::from_millis(millis / 2));
        if number % 3 == 2 {
            client.prompt(&session, "/next");
        }
        std::thread::sleep(Duration::from_millis(millis - millis / 2));
        kill(&client);
        assert_nothing_is_left(&user.session);
        assert_eq!(user.session.tree(), before);
        let mut next = user.client();
        // Forks that are left are deleted at the next start, and until then they are not listed.
        let listed = list_sessions(&mut next);
        assert_eq!(listed.iter().filter(|id| **id == session).count(), 1);
        next.request("_flush", json!({}));
        assert_eq!(next.end(), Some(0));
        assert_eq!(listed, user.stored_sessions(), "after {millis} ms");
    }
}
