//! Holds that a view has the machine's network only if the user says so, and never ahead.

use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::pty::Pty;
use crate::shadow::{events, session, shell};
use crate::support::Session;

/// A server on this machine that a command may connect to.
struct Server(TcpListener);

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    /// A line for a shell that connects to the server.
    fn call(&self) -> String {
        let port = self.0.local_addr().unwrap().port();
        format!("echo said > /dev/tcp/127.0.0.1/{port} && echo called > made.txt && env")
    }

    /// What a client sent, if one connected.
    fn received(&self) -> Option<String> {
        match self.0.accept() {
            Ok((mut caller, _)) => {
                caller.set_nonblocking(false).unwrap();
                caller.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let mut text = String::new();
                caller.read_to_string(&mut text).unwrap();
                Some(text)
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                None
            }
        }
    }
}

fn session_with_network_allowed() -> Session {
    let session = session();
    session.write("home/.config/headstart/config.toml", "[shadow]\nnetwork = 'allow'\n");
    session
}

fn run<'a>(line: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["shadow", "run"], options, &["--", "bash", "-c", line]].concat()
}

#[test]
fn a_command_has_the_network_where_its_users_file_allows_it_and_they_ask_for_it() {
    let (session, server) = (session_with_network_allowed(), Server::new());
    let (call, before) = (server.call(), session.hash());
    let without = session.run(&run(&call, &["--json"]));
    let told = without.json().pop().unwrap();
    assert_eq!((&told["network"], server.received()), (&json!(false), None), "{without}");
    assert_ne!(without.code, Some(0), "{without}");
    let with = session.run(&run(&call, &["--json", "--network"]));
    let told = with.json().pop().unwrap();
    assert_eq!((with.code, &told["network"]), (Some(0), &json!(true)), "{with}");
    assert_eq!(server.received().as_deref(), Some("said\n"));
    assert_eq!((&told["refused"]["network"], &told["applied"]), (&json!(0), &json!(false)), "{with}");
    let output = told["output"].as_str().unwrap();
    assert!(output.contains("DO_NOT_TRACK=1\n"), "{output}");
    for offline in ["CARGO_NET_OFFLINE", "npm_config_offline", "GOPROXY", "PIP_NO_INDEX", "UV_OFFLINE"] {
        assert!(!output.contains(offline), "{offline}: {output}");
    }
    assert_eq!(session.hash(), before, "nothing is written without --apply");
    let result = session.run(&run(&call, &["--network"]));
    assert!(result.stderr.contains("it had the network of this machine\n"), "{result}");
    assert_eq!(server.received().as_deref(), Some("said\n"));
}

#[test]
fn without_a_word_of_its_user_a_command_with_the_network_does_not_run() {
    let (session, server) = (session(), Server::new());
    let (call, before) = (server.call(), session.hash());
    let arguments = run(&call, &["--network"]);
    session.run(&arguments).assert_refused(1, &["--network asks first", "nobody is at a terminal"]);
    for (answer, code) in [("n\r", 125), ("y\r", 0)] {
        let mut terminal = Pty::of(&session.command(&arguments), 100, 30);
        terminal.wait_for("Run it? [y/N]");
        assert_eq!(server.received(), None, "it waits for the answer");
        terminal.send(answer);
        assert_eq!(terminal.exit_code(), code, "{}", terminal.contents());
        assert_eq!(server.received().is_some(), code == 0);
    }
    assert_eq!(session.hash(), before);
}

#[test]
fn a_project_cannot_allow_the_network() {
    let (session, server) = (session(), Server::new());
    session.write("project/.headstart/config.toml", "[shadow]\n\nnetwork = 'allow'\n");
    let words = [".headstart/config.toml:3: shadow.network: a project can only deny it"];
    session.run(&run(&server.call(), &["--network"])).assert_refused(1, &words);
    let session = session_with_network_allowed();
    session.write("project/.headstart/config.toml", "[shadow]\nnetwork = 'deny'\n");
    session.run(&run(&server.call(), &["--network"])).assert_refused(1, &["--network asks first"]);
    assert_eq!(server.received(), None);
}

#[test]
fn work_ahead_has_no_network_whatever_the_files_say() {
    let (mut session, server) = (session_with_network_allowed(), Server::new());
    session.write("project/call.sh", server.call());
    let recording =
        json!({"turns": [{"toolCalls": [shell("touch x; bash ./call.sh")]}, {"text": "Nobody is there."}]});
    let before = session.hash();
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    // A view has a loopback interface of its own, on which nobody listens.
    let results = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    assert!(results.contains("Connection refused"), "{outcome}");
    assert_eq!((server.received(), session.hash() == before), (None, true), "{outcome}");
    assert!(!outcome.stdout.contains("made.txt"), "{outcome}");
}
