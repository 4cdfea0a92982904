//! Holds that what `[tools]` in the configuration says decides what runs.

use serde_json::json;

use crate::support::Session;
use crate::support::server::{Server, calls, says};

const USER: &str = "home/.config/headstart/config.toml";
const PROJECT: &str = "project/.headstart/config.toml";

fn session() -> Session {
    Session::with_project().variable("OPENAI_API_KEY", "sk-tools-0123456789")
}

#[test]
fn mistakes_name_file_line_and_entry() {
    let session = session();
    for (file, text, words) in [
        (
            USER,
            "mode = 'default'\n[tools]\nshel = 'ask'\n",
            "config.toml:3: tools.shel: there is no tool of this name; the nearest is shell",
        ),
        (
            USER,
            "[tools]\nshell = 'allow'\n",
            "config.toml:2: tools.shell: \"allow\" is none of automatic, ask and exclude",
        ),
        (
            USER,
            "[[tools.rule]]\ntool = 'shell'\nwhen = { command = 'ls; rm' }\npolicy = 'automatic'\n",
            "tools.rule 1.when: command: \"ls; rm\" has ';'",
        ),
        (USER, "[[tools.rule]]\ntool = 'shell'\nif = 'x'\npolicy = 'ask'\n", "unknown field `if`"),
        (
            PROJECT,
            "[tools]\nshell = 'automatic'\n",
            "project/.headstart/config.toml:2: tools.shell: a project can only have more asked or excluded",
        ),
    ] {
        session.write(USER, "").write(PROJECT, "").write(file, text);
        let outcome = session.run(&["tools"]);
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert!(outcome.stderr.contains(words), "{words}: {outcome}");
    }
}

#[test]
fn tools_are_listed_with_what_is_said_of_them() {
    let session = session();
    let rule = "[[tools.rule]]\ntool = 'shell'\nwhen = { command = 'cargo test *' }\npolicy = 'automatic'\n";
    session.write(USER, format!("[tools]\nread_file = 'automatic'\n{rule}"));
    session.write(PROJECT, "[tools]\nshell = 'ask'\nwrite_file = 'exclude'\n");
    let outcome = session.run(&["tools"]);
    insta::assert_snapshot!(session.redact(&outcome.stdout), @r#"
    where the mode decides, it is default; in a chat with views, edits and commands that write are staged, and asked about once when the turn ends
    read_file         automatic  [tools] of the user says read_file = "automatic"
    grep              mode       runs
    glob              mode       runs
    ls                mode       runs
    edit              mode       asks
    write_file        exclude    [tools] of the project says write_file = "exclude"
    shell             ask        [tools] of the project says shell = "ask"; a rule is about some of its calls
    multi_edit        mode       asks
    create_file       mode       asks
    run_in_background mode       asks
    command_output    mode       runs
    stop_command      mode       runs
    view_diff         mode       runs
    create_rule       exclude    it is offered where [tools] of the user names it: create_rule = "ask"
    fetch_url         mode       asks
    codebase          mode       runs
    repo_map          mode       runs
    task              mode       each of its calls is judged by itself
    "#);
    let row = &session.run(&["tools", "--json"]).json()[6];
    assert_eq!((&row["tool"], &row["policy"]), (&json!("shell"), &json!("ask")));
    session.write(PROJECT, "");
    for (mode, edit, shell) in [
        ("default", "asks", "runs if it only reads, else asks"),
        ("auto-edit", "runs", "runs if it only reads, else asks"),
        ("plan", "refused", "runs if it only reads, else refused"),
        ("yolo", "runs", "runs"),
    ] {
        let rows = session.run(&["tools", "--mode", mode, "--json"]).json();
        let says = |tool: &str| rows.iter().find(|row| row["tool"] == tool).unwrap()["byMode"].clone();
        assert_eq!((says("edit"), says("shell")), (json!(edit), json!(shell)), "{mode}");
    }
}

/// Behind a pipe there is nobody to ask, so a call that is not automatic does not run.
#[test]
fn a_rule_answers_for_its_user_and_for_whole_lines_only() {
    let session = session();
    let rule = "[[tools.rule]]\ntool = 'shell'\nwhen = { command = 'touch *' }\npolicy = 'automatic'\n";
    session.write(USER, format!("[tools]\nls = 'exclude'\n{rule}"));
    let run = |command: &str| {
        let server = Server::start(vec![calls(&[("shell", json!({ "command": command }))]), says("Done.")]);
        let chat = ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url];
        let outcome = session.run_with_input(&chat, "go\n");
        let tools = server.requests()[0].json()["tools"].to_string();
        assert!(!tools.contains("\"ls\"") && tools.contains("\"shell\""), "what is excluded is not offered");
        outcome
    };
    run("touch one; touch two");
    assert!(session.text("one").is_some() && session.text("two").is_some());
    run("touch three; rm one");
    run("touch four $(rm one)");
    run("touch five > six");
    for file in ["three", "four", "five", "six"] {
        assert!(session.text(file).is_none(), "{file}");
    }
    assert!(session.text("one").is_some());
    // The same line does not run ahead, because a policy frees nothing there.
    let session = session.variable("HEADSTART_SHADOW", "off");
    let server = Server::start(vec![calls(&[("shell", json!({ "command": "touch seven" }))])]);
    let outcome = session.run(&server.speculation("openai:test", &["go"]));
    assert_eq!(outcome.finished()["status"], "boundary", "{outcome}");
}

#[test]
fn the_gate_judges_with_policies() {
    let session = session();
    session.write(USER, "[tools]\nread_file = 'ask'\nglob = 'exclude'\n");
    let lines = "{\"tool\":\"read_file\",\"args\":{\"file_path\":\"a\"}}\n{\"tool\":\"Glob\",\"args\":{\"pattern\":\"*\"}}\n";
    let outcome = session.run_with_input(&["gate"], lines);
    let reasons: Vec<_> = outcome.json().iter().map(|line| line["reason"].clone()).collect();
    assert_eq!(reasons, ["policy", "excluded_tool"], "{outcome}");
}
