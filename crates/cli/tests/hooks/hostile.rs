//! A project that somebody only cloned and opened in another product, and that tries all it can through its hook.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::support::hostile::{
    GIT_LOOKS, LOOSENING, SECRET, for_each_plant, for_each_repository_elsewhere, run_bounded, user,
};
use super::support::{Outcome, Session};

const PRODUCTS: [&str; 6] = ["claude-code", "qwen-code", "codex", "copilot", "cursor", "gemini-cli"];

/// Commands that look at what a hostile repository has.
const LOOKS: [&str; 8] = [
    "ls",
    "cat AGENTS.md .gitignore",
    "cat .headstart/config.toml",
    "cat .git/HEAD .git/config",
    "grep -r canary .",
    "git status --short",
    "git log -1 -p",
    "echo $DEPLOY_KEY",
];

fn message(session: &Session, product: &str, command: &str) -> Value {
    let folder = session.workspace().canonicalize().unwrap();
    let input = json!({ "command": command });
    match product {
        "cursor" => json!({
            "hook_event_name": "beforeShellExecution", "command": command, "cwd": folder, "workspace_roots": [folder],
        }),
        "copilot" => json!({ "cwd": folder, "toolName": "bash", "toolArgs": input.to_string() }),
        "gemini-cli" => json!({
            "hook_event_name": "BeforeTool", "cwd": folder, "tool_name": "run_shell_command", "tool_input": input,
        }),
        "qwen-code" => json!({
            "hook_event_name": "PermissionRequest", "cwd": folder, "permission_mode": "default",
            "tool_name": "run_shell_command", "tool_input": input,
        }),
        "codex" => json!({
            "hook_event_name": "PermissionRequest", "cwd": folder, "permission_mode": "default",
            "tool_name": "Bash", "tool_input": input,
        }),
        _ => json!({
            "hook_event_name": "PreToolUse", "cwd": folder, "permission_mode": "default",
            "tool_name": "Bash", "tool_input": input,
        }),
    }
}

fn hook(session: &Session, product: &str, command: &str) -> Outcome {
    run_bounded(session, &["hook", product], &message(session, product, command).to_string())
}

fn said(outcome: &Outcome) -> String {
    format!("{}{}", outcome.stdout, outcome.stderr)
}

/// Runs what a product would run after this answer, with the variables of its user, and returns what it prints.
fn run_what_is_allowed(session: &Session, answer: &Outcome, command: &str) -> Option<String> {
    let answer = answer.json().into_iter().next()?;
    if !answer.to_string().contains("\"allow\"") {
        return None;
    }
    let line = answer["hookSpecificOutput"]["updatedInput"]["command"].as_str().unwrap_or(command).to_owned();
    let as_user = session.command(&[]);
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", &format!("ulimit -v 8388608; {line}")]).current_dir(session.workspace()).env_clear();
    bash.envs(as_user.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Some(said(&session.outcome(&[&line], child)))
}

/// Asks for each command, for one product after the other, so that each sees some of every kind.
fn nothing_is_told(what: &str, session: &Session, commands: &[&str]) {
    for (command, product) in commands.iter().zip(PRODUCTS.iter().cycle()) {
        let answer = hook(session, product, command);
        assert_eq!(answer.code, Some(0), "{what}: {product}: {command}: {answer}");
        assert!(!said(&answer).contains(SECRET), "{what}: {product}: {command}: {answer}");
        // What reads a pipe or a device has its time limit, for which no test waits.
        if !["mkfifo", "/dev/zero", "1T"].iter().any(|endless| what.contains(endless)) {
            let printed = run_what_is_allowed(session, &answer, command).unwrap_or_default();
            assert!(!printed.contains(SECRET), "{what}: {product}: {command}: {printed}");
        }
    }
}

#[test]
fn whatever_lies_in_the_place_of_a_file_tells_no_secret_and_hangs_no_hook() {
    let mut turn = 0;
    for_each_plant(|plant, session| {
        // Over all of them each product gets each command.
        let mut commands = LOOKS.to_vec();
        commands.rotate_left(turn % LOOKS.len());
        turn += 1;
        nothing_is_told(plant, session, &commands);
    });
}

#[test]
fn a_repository_elsewhere_is_not_shown() {
    for_each_repository_elsewhere(|way, session| {
        for turn in 0..PRODUCTS.len() {
            // One more than products divide, so that each gets every command.
            let mut commands = [&GIT_LOOKS[..], &["ls", "ls -R sub", "cat sub/.git"]].concat();
            commands.rotate_left(turn);
            nothing_is_told(way, session, &commands);
        }
    });
}

#[test]
fn a_line_that_loosens_answers_nothing_and_repeats_nothing() {
    let session = user();
    for (line, field) in LOOSENING {
        session.write("project/.headstart/config.toml", line);
        for product in PRODUCTS {
            let answer = hook(&session, product, "ls");
            assert_eq!((answer.stdout.as_str(), answer.code), ("", Some(0)), "{line}: {product}: {answer}");
            assert!(answer.stderr.contains(field), "{line}: {product}: {answer}");
            assert!(!answer.stderr.contains("canary"), "{line}: {product}: {answer}");
        }
    }
}

/// A hook starts no tool server and asks no model, whatever the project says.
#[test]
fn a_projects_choices_start_nothing() {
    let session = user();
    let mut lines = "model = 'ollama:theirs'\nallow = ['touch']\n".to_owned();
    if cfg!(feature = "mcp") {
        lines = "[mcp.t]\ncommand = ['sh', '-c', 'touch owned']\n".to_owned();
    }
    session.write("project/.headstart/config.toml", lines);
    for product in PRODUCTS {
        for command in ["ls", "touch owned", "make owned"] {
            let answer = hook(&session, product, command);
            assert!(
                command == "ls" || !answer.stdout.contains("\"allow\""),
                "{product}: {command}: {answer}"
            );
        }
    }
    assert!(!session.workspace().join("owned").exists());
}
