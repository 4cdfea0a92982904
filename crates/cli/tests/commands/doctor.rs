//! Holds that `headstart doctor` says what works on a machine, and what to do about what does not.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{Outcome, Session};

fn check<'a>(lines: &'a [Value], name: &str) -> &'a Value {
    lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no {name} in {lines:#?}"))
}

fn state<'a>(lines: &'a [Value], name: &str) -> &'a str {
    check(lines, name)["state"].as_str().expect("a state")
}

fn lines(outcome: &Outcome) -> Vec<Value> {
    let lines = outcome.json();
    assert!(lines.iter().all(|line| line["type"] == "check"), "{outcome}");
    lines
}

#[test]
fn an_empty_home_can_work_once_it_has_a_model() {
    let session = Session::with_project();
    let before = session.tree();
    let outcome = session.run(&["doctor"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for words in ["model          none is chosen", "ollama pull", "no file; the defaults", "views"] {
        assert!(outcome.stdout.contains(words), "{words:?}\n{outcome}");
    }
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 80), "{outcome}");
    assert_eq!(session.tree(), before);
    assert_eq!(std::fs::read_dir(session.home()).unwrap().count(), 0, "nothing is made");
    let lines = lines(&session.run(&["doctor", "--json"]));
    for name in ["system", "configuration", "state", "commands", "background", "terminal"] {
        assert_eq!(state(&lines, name), "ok", "{lines:#?}");
    }
    assert_eq!((state(&lines, "model"), state(&lines, "views")), ("limited", "limited"));
}

#[test]
fn views_are_looked_for_by_making_one() {
    let session = Session::with_project().variable("HEADSTART_SHADOW", "");
    let lines = lines(&session.run(&["doctor", "--json"]));
    assert_eq!(state(&lines, "views"), "ok", "{lines:#?}");
    assert!(!check(&lines, "servers")["detail"].as_str().unwrap().is_empty());
    // Trying a view has made the folder of the state, so it is not said to be made later.
    let folder = session.home().join(".local/state/headstart");
    assert_eq!(check(&lines, "state")["detail"], folder.display().to_string());
    assert!(folder.exists());
}

#[test]
fn more_patterns_than_are_compared_are_told() {
    let session = Session::with_project();
    let patterns = |count: usize| {
        let patterns: Vec<_> = (0..count).map(|number| format!("*{number}*")).collect();
        patterns.join("\n")
    };
    session.write("project/.gitignore", patterns(5000));
    assert!(lines(&session.run(&["doctor", "--json"])).iter().all(|line| line["name"] != "ignored"));
    session.write("project/.gitignore", format!("# many\n\n{}", patterns(5001)));
    let lines = lines(&session.run(&["doctor", "--json"]));
    assert_eq!(state(&lines, "ignored"), "limited");
    let told = ".gitignore has 5001 patterns, of which the first 5000 count";
    assert_eq!(check(&lines, "ignored")["detail"], told);
    session.write("project/.gitignore", patterns(200_000));
    assert!(session.run(&["doctor"]).stdout.contains(".gitignore is longer than 1 MiB"));
}

#[test]
fn what_keeps_a_chat_from_beginning_fails_and_says_what_to_do() {
    let session = Session::with_project();
    let outcome = session.variable("HEADSTART_MODEL", "anthropic:claude-sonnet-5").run(&["doctor", "--json"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let detail = check(&lines(&outcome), "model")["detail"].to_string();
    assert!(
        detail.contains("set ANTHROPIC_API_KEY") && detail.matches("claude-sonnet-5").count() == 1,
        "{detail}"
    );
    for check in lines(&outcome).iter().filter(|check| check["state"] != "ok") {
        let (detail, help) = (check["detail"].as_str().unwrap(), check["help"].as_str().unwrap_or("no help"));
        assert!(!help.contains(detail), "the advice repeats what is wrong: {check}");
    }

    let session = Session::with_project();
    session.write("home/.config/headstart/config.toml", "mode = \"fast\"\n");
    let outcome = session.run(&["doctor"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stdout.contains("FAILED   configuration"), "{outcome}");
    let told: String = outcome.stdout.split_whitespace().collect();
    assert!(told.contains("config.toml:1:mode:"), "{outcome}");

    let session = Session::with_project();
    session.write("state", "a file in the place of the folder");
    let place = session.home().with_file_name("state").display().to_string();
    let outcome = session.variable("HEADSTART_STATE_DIR", &place).run(&["doctor", "--json"]);
    assert_eq!((outcome.code, state(&lines(&outcome), "state")), (Some(1), "failed"), "{outcome}");
}

#[test]
fn a_server_on_this_machine_is_looked_for_and_nothing_is_sent() {
    // No other test has a server at this address, so the port stays free afterwards.
    let listener = TcpListener::bind("127.9.1.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let session = Session::with_project()
        .variable("HEADSTART_MODEL", "openai:local")
        .variable("HEADSTART_BASE_URL", &address);
    let outcome = session.run(&["doctor", "--json"]);
    assert_eq!((outcome.code, state(&lines(&outcome), "model")), (Some(0), "ok"), "{outcome}");
    let (mut connection, _) = listener.accept().unwrap();
    let sent = std::io::Read::read(&mut connection, &mut [0]).unwrap();
    assert_eq!(sent, 0, "it only connected");
    drop(listener);
    let outcome = session.run(&["doctor", "--json"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(check(&lines(&outcome), "model")["help"].as_str().unwrap().contains("start the model server"));
}
