//! How it ends: the editor first, the agent first, or neither of them in order.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{User, json, listed, nothing_is_left, processes};
use crate::client::Client;

#[test]
fn an_agent_that_dies_is_told_with_its_last_words() {
    let user = User::with_agent("some-agent", json!({ "die": [{ "say": "I go." }, { "exit": 7 }] }));
    let mut client = user.start(&[], &["some-agent"]);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let session = client.open(&user.session);
    let id = client.prompt(&session, "die");
    let answer = client.answer_to(id);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("exit code 7") && said.contains("the last words"), "{said}");
    assert_eq!(client.end(), Some(7));
}

#[test]
fn an_agent_that_is_not_there_is_told_so() {
    let user = User::with_agent("some-agent", json!({}));
    let mut client = user.start(&[], &["no-such-agent"]);
    let answer = client.request("initialize", json!({ "protocolVersion": 1 }));
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("no-such-agent cannot be started"), "{said}");
    assert_eq!(client.end(), Some(127));
    let usage = user.session.run(&["acp-proxy"]);
    assert_eq!(usage.code, Some(2), "{usage}");
}

#[test]
fn it_ends_with_its_editor_and_so_does_the_agent() {
    let user = User::with_agent("some-agent", json!({ "wait": [{ "sleep": 600 }] }));
    // In the middle of a turn, so that the end of its input tells the agent nothing.
    let mut client = user.start(&[], &["some-agent"]);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let session = client.open(&user.session);
    client.prompt(&session, "wait");
    assert_eq!(client.end(), Some(0));
    nothing_is_left(&user.session);
    let mut command = user.session.command(&["acp-proxy", "--", "some-agent"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
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
    nothing_is_left(&user.session);
}

#[test]
fn a_killed_proxy_leaves_nothing_after_the_next_start() {
    // Before, while and after the fork is made.
    killed_after(&[0, 50, 150, 300, 600, 1200]);
}

#[test]
#[ignore = "takes minutes; .ci/long runs it"]
fn a_proxy_that_is_killed_at_fifty_moments_leaves_nothing() {
    let mut seed = 4711_u64;
    let mut moments = Vec::new();
    for _ in 0..50 {
        // Numbers that are the same in each run.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        moments.push((seed >> 33) % 1500);
    }
    killed_after(&moments);
}

/// Kills the proxy so long after the first turn, while a fork is made, asked and at work, or what it did is taken.
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
        nothing_is_left(&user.session);
        assert_eq!(user.session.tree(), before);
        let mut next = user.client();
        // Forks that are left are deleted at the start; until then they are not listed.
        let listed = listed(&mut next);
        assert_eq!(listed.iter().filter(|id| **id == session).count(), 1);
        next.request("_flush", json!({}));
        assert_eq!(next.end(), Some(0));
        assert_eq!(listed, user.kept(), "after {millis} ms");
    }
}

fn kill(client: &Client) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.process()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
