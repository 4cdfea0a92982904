use std::path::Path;

use headstart_machine::environment::Environment;

use super::super::contract::{CONTRACTS, contract};
use super::*;

const COMMAND: &str = "/usr/bin/headstart hook claude-code";

fn with(text: &str) -> Result<Option<String>, Problem> {
    with_entry(contract("claude-code").unwrap(), text, COMMAND)
}

fn without(text: &str) -> Result<Option<String>, Problem> {
    without_entry(contract("claude-code").unwrap(), text)
}

#[test]
fn what_is_there_stays() {
    let before = r#"{
    // my own
    "model": "opus", /* and this */
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    { "type": "command", "command": "./check.sh" }, // first of all
                ]
            }
        ],
        "Stop": []
    },
    "permissions": {"allow": ["Bash(ls:*)"]}
}
"#;
    let after = with(before).unwrap().unwrap();
    insta::assert_snapshot!(after);
    assert_eq!(with(&after), Ok(None), "a second time changes nothing");
    assert_eq!(without(&after).unwrap().unwrap(), before);
    assert_eq!(without(before), Ok(None));
}

#[test]
fn a_file_that_is_not_there_is_made() {
    let all: Vec<_> = CONTRACTS
        .iter()
        .map(|contract| {
            let command = format!("headstart hook {}", contract.name);
            let text = with_entry(contract, "", &command).unwrap().unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
            assert_eq!(with_entry(contract, &text, &command), Ok(None));
            let rest = without_entry(contract, &text).unwrap().unwrap();
            assert!(is_bare(&rest), "{rest}");
            format!("{} ({}):\n{text}", contract.settings.user, contract.settings.project)
        })
        .collect();
    insta::assert_snapshot!(all.concat());
}

#[test]
fn an_older_entry_is_changed_and_others_are_left() {
    let older = "'/home/it'\\''s me/headstart' hook claude-code --deny";
    let text = with_entry(contract("claude-code").unwrap(), "{}", older).unwrap().unwrap();
    let changed = with(&text).unwrap().unwrap();
    assert_eq!(changed, text.replace(&serde_json::to_string(older).unwrap(), &format!("{COMMAND:?}")));
    for others in
        ["headstart hook codex", "headstart-x hook claude-code", "echo headstart hook claude-code", ""]
    {
        let text = with_entry(contract("claude-code").unwrap(), "{}", others).unwrap().unwrap();
        assert_eq!(without(&text), Ok(None), "{others}");
    }
}

#[test]
fn what_its_user_added_to_a_command_is_left() {
    for command in
        ["/opt/headstart hook claude-code --text | tee -a ~/log", "headstart hook claude-code; true"]
    {
        let text = with_entry(contract("claude-code").unwrap(), "{}", command).unwrap().unwrap();
        for problem in [with(&text).unwrap_err(), without(&text).unwrap_err()] {
            assert!(problem.message.contains("by hand"), "{problem:?}");
            let line = text.lines().nth(problem.line - 1).unwrap();
            assert!(line.contains("hook claude-code"), "{line}");
        }
        let same = with_entry(contract("claude-code").unwrap(), &text, command);
        assert_eq!(same, Ok(None));
    }
}

#[test]
fn comments_in_an_empty_list_stay() {
    let list = "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      // is off: { \"matcher\": \"Edit\" }\n    ]\n  }\n}\n";
    let hooks = "{\n  \"hooks\": {\n    // ask before a change\n  }\n}\n";
    for before in [list, hooks] {
        let after = with(before).unwrap().unwrap();
        assert_eq!(without(&after).unwrap().unwrap(), before, "{after}");
    }
}

#[test]
fn what_is_no_settings_file_is_refused_with_its_line() {
    for (text, line, why) in [
        ("{\n  \"a\": 1,\n  oops\n}", 3, "not JSON"),
        ("{\n  'a': 1\n}", 2, "not JSON"),
        ("{ \"a\": 1", 1, "not JSON"),
        ("{} {}", 1, "not JSON"),
        ("[]", 1, "the file is not an object"),
        ("{\"hooks\": []}", 1, "\"hooks\" is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", 1, "\"hooks.PreToolUse\" is not a list"),
        ("{\"hooks\": {}, \"hooks\": {}}", 1, "twice"),
    ] {
        let problem = with(text).unwrap_err();
        assert_eq!(problem.line, line, "{text}: {problem:?}");
        assert!(problem.message.contains(why), "{text}: {problem:?}");
    }
}

#[test]
fn files_of_any_form_come_back_as_they_were() {
    for before in [
        r#"{"model":"opus"}"#,
        r#"{ "model": "opus" }"#,
        "{\"model\":\"opus\"}\n",
        "{\"model\":\"opus\"}\r\n",
        r#"  {"model": "opus", "hooks": {"Stop": []}}  "#,
        r#"{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"./x"}]}]},"a":1}"#,
        r#"{"hooks":{"Stop":[]},"permissions":{"allow":["Bash(ls:*)"]}}"#,
        "\u{feff}{\"model\":\"opus\"}\n",
        "\u{feff}{\n  \"model\": \"opus\"\n}\n",
        "{\n  \"model\": \"opus\"\n}",
        "{\r\n\t\"model\": \"opus\"\r\n}\r\n",
        "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": []\n    }\n}\n",
    ] {
        let after = with(before).unwrap().unwrap();
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'), "{before}");
        assert_eq!(after.trim().contains('\n'), before.trim().contains('\n'), "{after}");
        let parsed: serde_json::Value = serde_json::from_str(after.trim_start_matches('\u{feff}')).unwrap();
        let ours = parsed["hooks"]["PreToolUse"].as_array().unwrap().last().unwrap();
        assert_eq!(ours["hooks"][0]["command"], COMMAND, "{after}");
        assert_eq!(with(&after), Ok(None), "{after}");
        assert_eq!(without(&after).unwrap().unwrap(), before, "{after}");
    }
}

#[test]
fn a_refusal_is_found_in_the_entry() {
    let claude = contract("claude-code").unwrap();
    for (command, expected) in [
        ("headstart hook claude-code --deny", true),
        ("/opt/headstart hook claude-code --text --deny", true),
        ("headstart hook claude-code", false),
        ("headstart hook codex --deny", false),
        ("other hook claude-code --deny", false),
    ] {
        let text = with_entry(claude, "{}", command).unwrap().unwrap();
        assert_eq!(denies(claude, &text), expected, "{command}");
    }
    assert!(!denies(claude, "") && !denies(claude, "[") && !denies(claude, "{\"hooks\": 1}"));
}

#[test]
fn the_entry_names_no_folder_that_a_package_manager_clears() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let program = |path: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    };
    let in_cache = program(".npm/_npx/1a2b/node_modules/.bin/headstart");
    let own = program(".npm/_npx/1a2b/node_modules/@headstart/linux-x64/headstart");
    let with_path = |folders: &[&Path]| -> Environment {
        let path = std::env::join_paths(folders).unwrap().into_string().unwrap();
        [("PATH".into(), path.into())].into_iter().collect()
    };
    let bin = in_cache.parent().unwrap();
    let refused = own_path(&own, &with_path(&[bin])).unwrap_err().to_string();
    assert!(refused.contains("for good") && refused.contains("_npx"), "{refused}");
    let launcher = program("bin/headstart");
    let found = own_path(&own, &with_path(&[bin, launcher.parent().unwrap()])).unwrap();
    assert_eq!(found, launcher);
    let plain = program("opt/headstart");
    assert_eq!(own_path(&plain, &with_path(&[bin])).unwrap(), plain);
}
