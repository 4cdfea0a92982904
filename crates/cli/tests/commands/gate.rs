use crate::support::{Session, transcript};

const CALLS: &str = r#"{"cmd":"cat README.md | head -5"}
{"cmd":"rm -rf build"}
{"cmd":"cat ../secret"}
{"tool":"read_file","args":{"file_path":"src/main.rs"}}
{"tool":"Read","args":{"file_path":"/etc/passwd"}}
{"tool":"edit","args":{"file_path":"a.txt","old_string":"a","new_string":"b"}}
{"tool":"write_file","args":{"file_path":"../b.txt","content":""}}
{"tool":"launch","args":{}}
{"tool":"ls"}
{"cmd":"ls","tool":"ls","args":{}}
["ls"]

{"cmd":"ls
{"cmd":"ls","expect":"readonly"}"#;

#[test]
fn every_call_has_its_verdict_in_its_place() {
    let session = Session::new();
    let default = session.run_with_input(&["gate"], CALLS);
    assert_eq!(default.json().len(), CALLS.lines().count());
    let shown = transcript(&[default, session.run_with_input(&["gate", "--mode", "auto-edit"], CALLS)]);
    insta::assert_snapshot!(shown, @r#"
    $ headstart gate
    {"decision":"allow","reason":"read_only","detail":"the command only reads","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,13]},{"kind":"readOnly","detail":"reads README.md","span":[4,13]},{"kind":"readOnly","detail":"reads and prints","span":[16,23]}],"reads":["README.md"],"writes":[]}
    {"decision":"boundary","reason":"writes","detail":"rm writes, moves or removes files","effects":[{"kind":"writesWorkspace","detail":"rm writes, moves or removes files","span":[0,2]}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"reads_outside","detail":"reads \"../secret\", outside the workspace","effects":[{"kind":"readsOutside","detail":"reads \"../secret\", outside the workspace","span":[4,13]}],"reads":[],"writes":[]}
    {"decision":"allow","reason":"read_only","detail":"read_file only reads","effects":[{"kind":"readOnly","detail":"reads src/main.rs"}],"reads":["src/main.rs"],"writes":[]}
    {"decision":"boundary","reason":"outside_workspace","detail":"\"/etc/passwd\" is outside the workspace; use a path inside it","effects":[{"kind":"readsOutside","detail":"reaches outside the workspace"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"write_tool_no_auto","detail":"edit asks first in this mode","effects":[{"kind":"writesWorkspace","detail":"writes a.txt"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"write_tool_no_auto","detail":"write_file asks first in this mode","effects":[{"kind":"writesWorkspace","detail":"writes ../b.txt"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"unknown_tool","detail":"\"launch\" is no tool the gate knows","effects":[{"kind":"unknown","detail":"an unknown tool may do anything"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"\"args\" is missing","line":9,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"\"cmd\" stands alone; it cannot go with \"tool\" or \"args\"","line":10,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not a JSON object","line":11,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a value at byte 0","line":12,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a string at byte 10","line":13,"effects":[],"reads":[],"writes":[]}
    {"decision":"allow","reason":"read_only","detail":"the command only reads","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,2]},{"kind":"readOnly","detail":"looks at names in the workspace","span":[0,2]}],"reads":["."],"writes":[]}
    [exit 0]

    $ headstart gate --mode auto-edit
    {"decision":"allow","reason":"read_only","detail":"the command only reads","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,13]},{"kind":"readOnly","detail":"reads README.md","span":[4,13]},{"kind":"readOnly","detail":"reads and prints","span":[16,23]}],"reads":["README.md"],"writes":[]}
    {"decision":"boundary","reason":"writes","detail":"rm writes, moves or removes files","effects":[{"kind":"writesWorkspace","detail":"rm writes, moves or removes files","span":[0,2]}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"reads_outside","detail":"reads \"../secret\", outside the workspace","effects":[{"kind":"readsOutside","detail":"reads \"../secret\", outside the workspace","span":[4,13]}],"reads":[],"writes":[]}
    {"decision":"allow","reason":"read_only","detail":"read_file only reads","effects":[{"kind":"readOnly","detail":"reads src/main.rs"}],"reads":["src/main.rs"],"writes":[]}
    {"decision":"boundary","reason":"outside_workspace","detail":"\"/etc/passwd\" is outside the workspace; use a path inside it","effects":[{"kind":"readsOutside","detail":"reaches outside the workspace"}],"reads":[],"writes":[]}
    {"decision":"redirect","reason":"staged_write","detail":"edit is staged","effects":[{"kind":"writesWorkspace","detail":"writes a.txt"}],"reads":["a.txt"],"writes":["a.txt"]}
    {"decision":"boundary","reason":"outside_workspace","detail":"\"../b.txt\" is outside the workspace; use a path inside it","effects":[{"kind":"readsOutside","detail":"reaches outside the workspace"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"unknown_tool","detail":"\"launch\" is no tool the gate knows","effects":[{"kind":"unknown","detail":"an unknown tool may do anything"}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"\"args\" is missing","line":9,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"\"cmd\" stands alone; it cannot go with \"tool\" or \"args\"","line":10,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not a JSON object","line":11,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a value at byte 0","line":12,"effects":[],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a string at byte 10","line":13,"effects":[],"reads":[],"writes":[]}
    {"decision":"allow","reason":"read_only","detail":"the command only reads","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,2]},{"kind":"readOnly","detail":"looks at names in the workspace","span":[0,2]}],"reads":["."],"writes":[]}
    [exit 0]
    "#);
}

fn decisions(session: &Session, arguments: &[&str], input: &str) -> Vec<String> {
    let outcome = session.run_with_input(arguments, input);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let decision = |answer: serde_json::Value| {
        let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("decision"), text("reason"))
    };
    outcome.json().into_iter().map(decision).collect()
}

#[test]
fn the_workspace_is_taken_by_its_text_even_where_it_is_not() {
    let session = Session::new();
    let call = r#"{"tool":"read_file","args":{"file_path":"/srv/site/index.html"}}"#;
    for workspace in ["/srv/site", "/srv/site/", "/srv/other/../site"] {
        assert_eq!(
            decisions(&session, &["gate", "--workspace", workspace], call),
            ["allow read_only"],
            "{workspace}"
        );
    }
    assert_eq!(decisions(&session, &["gate"], call), ["boundary outside_workspace"]);
    let outcome = session.run_with_input(&["gate", "--workspace", "/srv/site"], call);
    assert!(outcome.stderr.contains("workspace /srv/site is not here"), "{outcome}");
}

#[test]
fn the_mode_comes_from_the_flag_the_environment_or_a_file() {
    let call = r#"{"tool":"write_file","args":{"file_path":"a.txt","content":"a"}}"#;
    let asked = ["boundary write_tool_no_auto"];
    let session = Session::new();
    assert_eq!(decisions(&session, &["gate"], call), asked);
    session.write("home/.config/headstart/config.toml", "mode = 'auto-edit'");
    assert_eq!(decisions(&session, &["gate"], call), ["redirect staged_write"]);
    session.write("project/.headstart/config.toml", "mode = 'default'");
    assert_eq!(decisions(&session, &["gate"], call), asked);
    let session = session.variable("HEADSTART_MODE", "auto-edit");
    assert_eq!(decisions(&session, &["gate"], call), ["redirect staged_write"]);
    assert_eq!(decisions(&session, &["gate", "--mode", "plan"], call), asked);
}

#[test]
fn deny_rules_of_both_files_count() {
    let session = Session::new();
    session.write("home/.config/headstart/config.toml", "deny = ['*.pem']");
    session.write("project/.headstart/config.toml", "deny = ['secrets/']");
    let calls = r#"{"tool":"read_file","args":{"file_path":"keys/a.pem"}}
{"tool":"read_file","args":{"file_path":"secrets/a"}}
{"tool":"read_file","args":{"file_path":"a"}}"#;
    let denied = "boundary denied_path";
    assert_eq!(decisions(&session, &["gate"], calls), [denied, denied, "allow read_only"]);
}

#[test]
fn a_line_as_long_as_a_disk_is_answered_in_constant_memory() {
    let session = Session::new();
    let mut input = vec![b'x'; 20 * 1024 * 1024];
    input.extend_from_slice(b"\n{\"cmd\":\"ls\"}\n");
    let outcome = session.run_with_input(&["gate"], input);
    let answers = outcome.json();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["detail"], "the line is longer than 16777216 bytes");
    assert_eq!(answers[1]["decision"], "allow");
}

#[test]
fn with_shadow_calls_are_judged_as_those_ahead_where_there_are_views() {
    let session = Session::new();
    let calls = "{\"cmd\":\"cargo test\"}\n{\"cmd\":\"sudo make\"}\n{\"cmd\":\"cargo test; curl x.org\"}\n{\"cmd\":\"cat a\"}\n\
                 {\"tool\":\"edit\",\"args\":{\"file_path\":\"a\"}}";
    let without = [
        "boundary executes",
        "boundary executes",
        "boundary executes",
        "allow read_only",
        "boundary write_tool_no_auto",
    ];
    assert_eq!(decisions(&session, &["gate"], calls), without);
    let with = [
        "shadow executes",
        "boundary needs_host",
        "boundary executes",
        "allow read_only",
        "redirect staged_asks_first",
    ];
    assert_eq!(decisions(&session, &["gate", "--shadow"], calls), with);
    let planned = decisions(&session, &["gate", "--shadow", "--mode", "plan"], calls);
    assert_eq!(planned[0], "boundary executes");
}

#[test]
fn one_command_is_judged_and_a_program_is_explained() {
    let session = Session::new();
    let said = |arguments: &[&str]| {
        let outcome = session.run(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        outcome.stdout
    };
    assert_eq!(said(&["gate", "--brief", "ls -la | head"]), "allow: the command only reads\n");
    assert_eq!(said(&["gate", "--brief", "rm -rf build"]), "boundary: rm writes, moves or removes files\n");
    assert!(said(&["gate", "--shadow", "cargo test"]).starts_with("{\"decision\":\"shadow\""));
    let head = said(&["gate", "--explain", "head"]);
    assert!(head.starts_with("head") && head.contains("--lines=VALUE"), "{head}");
    let git = said(&["gate", "--explain", "git"]);
    assert!(git.contains("log, ") && git.contains("`headstart gate --explain 'git "), "{git}");
    assert!(said(&["gate", "--explain", "no-such-program"]).contains("not known"));
    let list = said(&["gate", "--list"]);
    for line in [
        "git log: reads",
        "cargo: boundary: runs other programs",
        ".env*: closed file (",
        ".vscode/: asked about (",
    ] {
        assert!(list.lines().any(|listed| listed.starts_with(line)), "{line} in {list}");
    }
    let outcome = session.run(&["gate", "--brief"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
}
