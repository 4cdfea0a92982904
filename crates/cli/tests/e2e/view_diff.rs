//! Holds how the model of work ahead and of a turn reads what differs from the last commit.

use serde_json::json;

use crate::codebase::{call, recording, results};
use crate::support::Session;
use crate::support::server::{Server, calls, says};

/// A project with edits of its user on disk.
fn project() -> Session {
    let session = Session::with_project();
    session
        .write("project/notes.txt", "remember the milk\nand the bread\n")
        .write("project/own.txt", "mine\n");
    session
}

#[test]
fn work_ahead_sees_what_it_has_staged_and_what_is_on_disk() {
    let mut session = project();
    let before = session.hash();
    let edit = json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "moon"});
    let of_both = json!({"file_path": "notes.txt", "old_string": "bread", "new_string": "butter"});
    let work = recording(&[
        call("view_diff", json!({})),
        call("edit", edit),
        call("edit", of_both),
        call("write_file", json!({"file_path": "new.txt", "content": "new\n"})),
        call("view_diff", json!({})),
        call("view_diff", json!({"path": "src"})),
        call("view_diff", json!({"staged": true})),
    ]);
    let (outcome, _) = session.speculate(&work, "auto-edit");
    let tool_results = results(&outcome);
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert!(
        tool_results[0].contains("+and the bread\n") && tool_results[0].ends_with("[untracked: own.txt]"),
        "{}",
        tool_results[0]
    );
    assert_eq!(
        tool_results[4],
        "diff --git a/greeting.txt b/greeting.txt\n--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1,2 +1,2 @@\n hello\n-world\n+moon\n\
         diff --git a/notes.txt b/notes.txt\n--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1,2 @@\n remember the milk\n+and the butter\n\
         [untracked: new.txt, own.txt]"
    );
    for nothing in &tool_results[5..7] {
        assert_eq!(nothing, "[nothing that git knows differs from the last commit]");
    }
    assert_eq!(session.hash(), before);
}

#[test]
fn what_is_closed_is_counted_and_never_shown() {
    let mut session = Session::with_project();
    session
        .write("project/.env", "PASSWORD=first-password\n")
        .write("project/private/a.txt", "first secret\n")
        .write("home/.config/headstart/config.toml", "deny = [\"private/**\"]\n");
    session.make_repository(&["status", "--short"]);
    session
        .write("project/.env", "PASSWORD=second-password\n")
        .write("project/private/a.txt", "second secret\n");
    std::fs::remove_file(session.workspace().join("notes.txt")).unwrap();
    let asked = [json!({}), json!({"path": "."}), json!({"staged": true})];
    let work: Vec<_> = asked.iter().map(|args| call("view_diff", args.clone())).collect();
    let (outcome, _) = session.speculate(&recording(&work), "default");
    assert!(!outcome.stdout.contains("secret\\n") && !outcome.stdout.contains("-password"), "{outcome}");
    let tool_results = results(&outcome);
    assert!(
        tool_results[0].contains("-remember the milk\n")
            && tool_results[0].ends_with("[2 more differ, which are closed]"),
        "{outcome}"
    );
    for closed in [".env", "private/a.txt"] {
        let (outcome, _) =
            session.speculate(&recording(&[call("view_diff", json!({"path": closed}))]), "default");
        assert_eq!(outcome.finished()["status"], "boundary", "{outcome}");
    }
}

#[test]
fn a_folder_without_a_repository_or_a_commit_says_so() {
    for (init, words) in [(false, "is no git repository"), (true, "has no commit yet")] {
        let mut session = Session::new();
        session.write("project/a.txt", "a\n");
        if init {
            session.git(&["init", "-q"]);
            session.git(&["add", "."]);
        }
        let (outcome, _) = session.speculate(&recording(&[call("view_diff", json!({}))]), "default");
        assert!(results(&outcome)[0].contains(words), "{outcome}");
    }
}

/// A prompt that mentions the diff gets the same text.
#[test]
fn a_mention_is_answered_by_the_tool() {
    let session = project().variable("OPENAI_API_KEY", "sk-diff-0123456789");
    let server = Server::start(vec![calls(&[("view_diff", json!({}))]), says("Seen.")]);
    let chat = ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url];
    let outcome = session.run_with_input(&chat, "what is in @diff?\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let requests = server.requests();
    let messages = |request: usize| requests[request].json()["messages"].as_array().unwrap().clone();
    let mention = messages(0).last().unwrap()["content"].as_str().unwrap().to_owned();
    let told = messages(1).last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(told.contains("+and the bread") && mention.contains(&told), "{mention} {told}");
}
