//! Holds what `/undo`, `/model` and `/copy` do.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::fixture::{Chat, project, project_with_suggestion};
use crate::support::server::{Server, says};

#[test]
fn undo_takes_back_a_whole_turn_and_then_the_one_before() {
    let mut chat = project()
        .writes(0, "first.txt", "1\n")
        .says(0, "Once.")
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .writes(0, "notes.txt", "two\n")
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "three" }))
        .writes(0, "made.txt", "made\n")
        .says(0, "Twice.")
        .chat("auto-edit");
    chat.send("/undo\r");
    chat.wait_for("no turn of this chat has changed a file");
    chat.send("begin\r");
    chat.wait_for("Once.");
    chat.send("go on\r");
    chat.wait_for("Twice.");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("three\n"));
    chat.send("/undo\r");
    chat.wait_for("as before  made.txt\nas before  notes.txt\nwhat \"go on\" wrote is taken back");
    assert_eq!((chat.read("notes.txt").as_deref(), chat.read("made.txt")), (Some("one\n"), None));
    assert_eq!(chat.read("first.txt").as_deref(), Some("1\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.read("first.txt"), None);
    chat.send("/undo\r");
    chat.wait_until("nothing left to undo", |screen| {
        screen.contents().matches("no turn of this chat has changed a file").count() == 2
    });
    chat.leave();
}

#[test]
fn undo_passes_over_work_that_changed_nothing() {
    let mut chat = project()
        .writes(0, "first.txt", "1\n")
        .says(0, "First answer.")
        .suggests("add tests")
        .says(0, "There is nothing to add.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.take();
    chat.wait_for("There is nothing to add.");
    chat.send("/undo\r");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.read("first.txt"), None);
    chat.leave();
}

#[test]
fn undo_changes_nothing_where_one_file_of_the_turn_was_edited_since() {
    let mut chat =
        project().writes(0, "a.txt", "a\n").writes(0, "b.txt", "b\n").says(0, "Done.").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("Done.");
    chat.project.session.write("project/a.txt", "mine\n");
    chat.send("/undo\r");
    chat.wait_for("nothing of \"begin\" was taken back: what it wrote has changed since");
    assert_eq!((chat.read("a.txt").as_deref(), chat.read("b.txt").as_deref()), (Some("mine\n"), Some("b\n")));
    chat.leave();
}

#[test]
fn undo_takes_back_work_that_ran_ahead_and_the_ledger_hears_of_it() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.take();
    chat.wait_for("Tests are written.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"add tests\" wrote is taken back");
    assert_eq!(chat.read("tests.txt"), None);
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let state = chat.project.session.home().join(".local/state/headstart");
    let mut folders = vec![state];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                text += &std::fs::read_to_string(entry.path()).unwrap_or_default();
            }
        }
    }
    assert!(text.contains(r#""outcome":"undone""#), "{text}");
}

#[test]
fn another_model_answers_from_now_on() {
    let first = Server::start(vec![says("I am the first."), says("I am the third.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let arguments = ["chat", "--model", "openai:one", "--base-url", &first.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 80, 30);
    chat.send("/model\r");
    chat.wait_for("openai:one answers; /model NAME chooses another");
    chat.send("begin\r");
    chat.wait_for("I am the first.");
    chat.send("/model nothing\r");
    chat.wait_for("the model stays as it is: ");
    chat.send("/model gemini:x\r");
    chat.wait_for("gemini:x needs a key: set GEMINI_API_KEY");
    chat.send("/model openai:three\r");
    chat.wait_for("openai:three answers from now on");
    chat.wait_for("plan · three · ");
    chat.send("who are you?\r");
    chat.wait_for("I am the third.");
    let sent_requests: Vec<_> =
        first.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(sent_requests, ["one", "three"]);
    chat.leave();
}

#[test]
fn an_answer_is_copied_to_a_file_or_the_clipboard() {
    let answer = "Look:\n\n```sh\nls -l\n```\n\nThat is all.";
    let mut chat = project().says(0, "First.").says(0, answer).chat("plan");
    chat.send("/copy\r");
    chat.wait_for("there is nothing like that to copy yet");
    chat.send("begin\r");
    chat.wait_for("First.");
    chat.send("go on\r");
    chat.wait_for("That is all.");
    chat.send("/copy code\r");
    chat.wait_for("6 characters are in");
    let folder = chat.project.session.home().join(".local/state/headstart");
    let copies = || {
        let files = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
        files.filter(|path| path.to_string_lossy().contains("headstart-copy-")).collect::<Vec<_>>()
    };
    let copy = copies().remove(0);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "ls -l\n");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(copy).unwrap();
    chat.send("/copy 2\r");
    chat.wait_until("the first answer", |_| {
        copies().first().is_some_and(|copy| std::fs::read_to_string(copy).unwrap() == "First.")
    });
    chat.leave();

    let mut chat = project().says(0, answer).variable("TERM_PROGRAM", "WezTerm").chat("plan");
    chat.send("begin\r");
    chat.wait_for("That is all.");
    chat.send("/copy\r");
    chat.wait_for("characters are in the clipboard");
    chat.leave();
}
