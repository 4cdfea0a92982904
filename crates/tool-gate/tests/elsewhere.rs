//! What a host has to know about a command that another program's shell would run.
#![cfg(feature = "shell")]
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]

mod support;

use headstart_tool_gate::{Decision, ElsewhereVerdict, Gate, GateContext, Reason};
use serde_json::{Value, json};

fn judge(args: &Value, directory: &str) -> ElsewhereVerdict {
    let context = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
    Gate::new().judge_elsewhere(args.as_object().unwrap(), directory, &context)
}

fn command(command: &str) -> ElsewhereVerdict {
    judge(&json!({ "command": command }), "/home/ada/project")
}

#[test]
fn a_command_that_takes_its_shell_elsewhere_says_so() {
    for line in
        ["cd src", "cd src && ls", "(cd src && ls)", "pushd src", "ls; cd -", "cd", "popd", "cd src; cd .."]
    {
        assert!(command(line).leaves_folder, "{line}");
    }
    for line in
        ["ls src", "cd .", "cd /home/ada/project && git status", "git -C src log -1", "find src -name cd"]
    {
        let judged = command(line);
        assert_eq!((judged.verdict.decision, judged.leaves_folder), (Decision::Allow, false), "{line}");
    }
}

#[test]
fn every_program_is_named() {
    for (line, programs) in [
        ("ls | grep x | grep y", &["ls", "grep"][..]),
        ("find . -name '*.c' -exec wc -l {} +", &["find", "wc"]),
        ("for f in *; do awk '{print}' \"$f\"; done", &["awk"]),
        ("/usr/bin/sort a", &["sort"]),
        ("git log | xargs -n1 echo", &["git", "xargs", "echo"]),
        ("echo $(timeout 3 stat a)", &["timeout", "stat", "echo"]),
    ] {
        let mut programs = programs.to_vec();
        programs.sort_unstable();
        assert_eq!(command(line).programs, programs, "{line}");
    }
}

#[test]
fn a_call_that_names_no_folder_runs_where_the_other_shell_is() {
    let up = json!({ "command": "cat ../notes" });
    assert_eq!(support::texts(&judge(&up, "/home/ada/project/src").verdict.reads), ["notes"]);
    assert_eq!(judge(&up, "/home/ada/project").verdict.reason, Reason::ReadsOutside);
    assert_eq!(judge(&up, "/home/ada").verdict.reason, Reason::OutsideWorkspace);
    let named = json!({ "command": "cat ../notes", "directory": "src" });
    assert_eq!(support::texts(&judge(&named, "/home/ada/project").verdict.reads), ["notes"]);
    let background = json!({ "command": "ls", "run_in_background": true });
    assert_eq!(judge(&background, "/home/ada/project").verdict.reason, Reason::NonTerminating);
}
