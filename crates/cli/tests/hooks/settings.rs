//! Holds how the hook's entry in a product's settings is made and removed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::Value;

use super::session;

const SETTINGS: &str = ".claude/settings.json";

#[test]
fn one_line_registers_and_one_takes_out() {
    let session = session();
    let file = session.home().join(SETTINGS);
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    session.write(&format!("home/{SETTINGS}"), before);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();

    let shown = session.run(&["hook", "claude-code", "--print"]);
    assert_eq!((shown.code, fs::read_to_string(&file).unwrap().as_str()), (Some(0), before));
    let written = session.run(&["hook", "claude-code", "--install"]);
    assert!(written.stdout.starts_with("written to") && written.stdout.contains("PreToolUse"), "{written}");
    let after = fs::read_to_string(&file).unwrap();
    let settings: Value = serde_json::from_str(&after).unwrap();
    let command = &settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
    assert_eq!(*command, format!("{} hook claude-code", env!("CARGO_BIN_EXE_headstart")));
    assert_eq!(settings["model"], "opus");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let again = session.run(&["hook", "claude-code", "--install"]);
    assert!(again.stdout.contains("has it already"), "{again}");
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    let denies = session.run(&["--json", "hook", "claude-code", "--install", "--deny"]).json().remove(0);
    assert_eq!((&denies["type"], &denies["changed"]), (&"hookSettings".into(), &true.into()));
    let refusing = after.replace("claude-code\"", "claude-code --deny\"");
    assert_eq!(fs::read_to_string(&file).unwrap(), refusing);
    let kept = session.run(&["hook", "claude-code", "--install"]);
    assert!(kept.stdout.contains("--deny was in the entry and stays"), "{kept}");
    assert_eq!(fs::read_to_string(&file).unwrap(), refusing);

    session.run(&["hook", "claude-code", "--uninstall"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let none = session.run(&["hook", "claude-code", "--uninstall"]);
    assert!(none.stdout.contains("no hook of headstart's"), "{none}");
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_file_that_is_protected_stays_and_one_that_is_not_keeps_its_owner() {
    let session = session();
    let file = session.home().join(SETTINGS);
    let before = "{\"model\":\"opus\"}";
    session.write(&format!("home/{SETTINGS}"), before);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = session.run(&["hook", "claude-code", "--install"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("protected against writing"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can give a file away.
    let given = std::os::unix::fs::chown(&file, Some(12_345), Some(12_346)).is_ok();
    session.run(&["hook", "claude-code", "--install"]);
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    if given {
        assert_eq!((metadata.uid(), metadata.gid()), (12_345, 12_346));
    }
    session.run(&["hook", "claude-code", "--uninstall"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_file_that_switches_all_hooks_off_is_named() {
    let session = session();
    let off = "{\"disableAllHooks\": true}";
    for place in [format!("home/{SETTINGS}"), "project/.claude/settings.local.json".to_owned()] {
        session.write(&place, off);
        for arguments in [&["--install"][..], &["--check", "ls"]] {
            let said = session.run(&[&["hook", "claude-code"], arguments].concat());
            assert!(
                said.stdout.contains("runs no hook at all") && said.stdout.contains("disableAllHooks"),
                "{said}"
            );
        }
        let told = session.run(&["--json", "hook", "claude-code", "--install"]).json().remove(0);
        assert!(
            told["off"].as_str().is_some_and(|file| file.ends_with(place.split_once('/').unwrap().1)),
            "{told}"
        );
        session.write(&place, "{\"disableAllHooks\": false}");
    }
    let on = session.run(&["hook", "claude-code", "--install"]);
    assert!(!on.stdout.contains("runs no hook"), "{on}");
}

#[test]
fn a_projects_settings_name_no_folder_of_this_machine() {
    let session = session();
    let written = session.run(&["hook", "copilot", "--install", "--project"]);
    let file = session.workspace().join(".github/hooks/headstart.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"headstart hook copilot\"") && text.contains("\"version\": 1"), "{text}");
    assert!(written.stdout.contains("does not count"), "{written}");
    session.write("project/.github/workflows/ci.yml", "");
    session.run(&["hook", "copilot", "--uninstall", "--project"]);
    let left: Vec<_> = fs::read_dir(session.workspace().join(".github")).unwrap().collect();
    assert_eq!(left.len(), 1, "what somebody put beside it stays: {left:?}");
}

#[test]
fn a_state_folder_of_the_command_line_is_that_of_the_hook() {
    let session = session();
    let state = session.home().join("my state");
    let state = state.to_str().unwrap();
    session.run(&["hook", "claude-code", "--install", "--state-dir", state]);
    let text = fs::read_to_string(session.home().join(SETTINGS)).unwrap();
    assert!(text.contains(&format!("hook claude-code --state-dir '{state}'")), "{text}");
    let again = session.run(&["hook", "claude-code", "--install", "--state-dir", state]);
    assert!(again.stdout.contains("has it already"), "{again}");
    let shared = session.run(&["hook", "claude-code", "--install", "--project", "--state-dir", state]);
    assert!(shared.code == Some(1) && shared.stderr.contains("leave out --state-dir"), "{shared}");
    assert!(!session.workspace().join(SETTINGS).exists());
    // The note that the file was made is in that folder.
    session.run(&["hook", "claude-code", "--uninstall"]);
    assert_eq!(fs::read_to_string(session.home().join(SETTINGS)).unwrap(), "{}\n");
}

#[test]
fn a_file_that_was_made_for_the_entry_goes_with_it_and_no_other() {
    let session = session();
    let file = session.home().join(SETTINGS);
    let run = |action: &str| session.run(&["hook", "claude-code", action]);
    run("--install");
    run("--uninstall");
    assert!(!file.parent().unwrap().exists(), "neither it nor its folder was there before");
    fs::create_dir(file.parent().unwrap()).unwrap();
    run("--install");
    run("--uninstall");
    assert!(!file.exists() && file.parent().unwrap().exists(), "the folder is the user's");
    for before in ["", "{}", "{}\n"] {
        session.write(&format!("home/{SETTINGS}"), before);
        run("--install");
        run("--uninstall");
        assert!(file.exists(), "it is the user's");
        fs::remove_file(&file).unwrap();
    }
    // What somebody adds to it makes it theirs.
    run("--install");
    let text = fs::read_to_string(&file).unwrap().replacen('{', "{\n  \"model\": \"opus\",", 1);
    fs::write(&file, text).unwrap();
    run("--uninstall");
    let left: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({ "model": "opus" }));
}

#[test]
fn settings_that_are_kept_elsewhere_stay_there() {
    let session = session();
    session.write("home/dotfiles/claude.json", "{}").write("home/.claude/x", "");
    symlink("../dotfiles/claude.json", session.home().join(SETTINGS)).unwrap();
    session.run(&["hook", "claude-code", "--install"]);
    assert!(session.home().join(SETTINGS).is_symlink());
    let content = fs::read_to_string(session.home().join("dotfiles/claude.json")).unwrap();
    assert!(content.contains("hook claude-code"), "{content}");
    let elsewhere = session.home().join("elsewhere");
    let session = session.variable("CLAUDE_CONFIG_DIR", elsewhere.to_str().unwrap());
    session.run(&["hook", "claude-code", "--install"]);
    assert!(elsewhere.join("settings.json").exists());
}

#[test]
fn what_cannot_be_edited_is_named_and_left() {
    let session = session();
    let file = session.home().join(SETTINGS);
    for (text, why) in [
        ("{\n  \"a\": ,\n}\n", "settings.json:2: this is not JSON"),
        ("{\"hooks\":[]}", "\"hooks\" is not an object"),
    ] {
        session.write(&format!("home/{SETTINGS}"), text);
        for action in ["--install", "--uninstall"] {
            let outcome = session.run(&["hook", "claude-code", action]);
            if text.contains("[]") && action == "--uninstall" {
                assert!(outcome.stdout.contains("no hook"), "{outcome}");
                continue;
            }
            assert_eq!(outcome.code, Some(1), "{outcome}");
            assert!(outcome.stderr.contains(why) && outcome.stderr.contains("left as it is"), "{outcome}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let useless = session.run(&["hook", "gemini-cli", "--install"]);
    assert!(useless.code == Some(1) && useless.stderr.contains("--deny"), "{useless}");
    let both = session.run(&["hook", "codex", "--install", "--uninstall"]);
    assert_eq!(both.code, Some(1), "{both}");
    assert_eq!(session.run(&["hook", "nothing", "--install"]).code, Some(2));
    let homeless = session.variable("HOME", "");
    let outcome = homeless.run(&["hook", "codex", "--install"]);
    assert!(outcome.stderr.contains("HOME"), "{outcome}");
}
