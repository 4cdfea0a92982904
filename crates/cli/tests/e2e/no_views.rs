//! Holds what happens if the system refuses views to the binary. Here it runs in a user namespace in which no other can
//! be made.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::shadow::{crate_session, events, shell};
use crate::support::{Outcome, Session};

/// A script that checks that it has a user namespace of its own, forbids further ones in it, and becomes the program
/// that it is given. The setting belongs to that namespace only; if no namespace could be made, nothing is set.
const REFUSING: &str = "[ \"$(readlink /proc/self/ns/user)\" != \"$0\" ] || exit 99\n\
                        echo 0 > /proc/sys/user/max_user_namespaces || exit 98\n\
                        exec \"$@\"";

fn most() -> String {
    std::fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap()
}

fn refused_views(session: &Session, arguments: &[&str]) -> Outcome {
    let binary = session.command(arguments);
    let own = std::fs::read_link("/proc/self/ns/user").unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "bash", "-c", REFUSING]).arg(own);
    command.arg(binary.get_program()).args(binary.get_args());
    command.current_dir(session.workspace()).env_clear();
    command.envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = most();
    let outcome = session.outcome(arguments, command.spawn().unwrap());
    assert_eq!(most(), before, "the machine's own setting is as it was");
    outcome
}

#[test]
fn where_the_system_refuses_views_a_command_that_writes_is_a_boundary_and_nothing_is_written() {
    let session = crate_session();
    let before = session.hash();
    let check = refused_views(&session, &["shadow", "check", "--json"]);
    let line = check.json().pop().unwrap();
    assert_eq!((check.code, &line["view"], &line["trials"]), (Some(1), &json!(null), &json!([])), "{check}");
    let why = line["why"].as_str().unwrap();
    assert!(why.contains("sudo sysctl -w user.max_user_namespaces=") && !why.contains("No space"), "{why}");

    let run = ["shadow", "run", "--", "touch", "made.txt"];
    refused_views(&session, &run)
        .assert_refused(125, &["this system gives no view", "user.max_user_namespaces is 0"]);

    let recording = json!({"turns": [
        {"toolCalls": [shell("cat Cargo.toml"), shell("echo x > made.txt; cargo test")]}, {"text": "never said"},
    ]});
    let model = session.recording(&recording);
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "test it"];
    let outcome = refused_views(&session, &arguments);
    let finished = outcome.finished();
    assert_eq!(finished["status"], "boundary", "{outcome}");
    assert_eq!(finished["boundary"]["verdict"]["decision"], "boundary", "{outcome}");
    assert_ne!(finished["boundary"]["verdict"]["reason"], json!(null), "{outcome}");
    assert!(events(&outcome, "shadowRan").is_empty(), "{outcome}");
    // A command that only reads is confined on the real files, which needs no namespace.
    let results = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    assert!(results.contains("edition = "), "{results}");
    assert_eq!(session.hash(), before);
    // Where views are allowed, the same command runs.
    assert_eq!(session.run(&run).code, Some(0));
}
