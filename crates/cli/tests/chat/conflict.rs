//! Holds what happens with files that the user changed while work on them ran ahead.

use serde_json::json;

use crate::fixture::{Chat, project_with_suggestion};
use crate::ledger::lines;

const QUESTION: &str = "notes.txt:\n[m]ine / [t]heirs / [b]oth with markers / [a]sk again / [d]iff";

/// Work ahead changes the notes, which the user changes as well, and makes a file. The user takes the work and is
/// asked.
fn chat_with_conflict() -> Chat {
    let mut chat = project_with_suggestion()
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
        .writes(0, "tests.txt", "tests\n")
        .says(0, "The notes say two.")
        .says(0, "I leave the notes to you.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 2 files +2 -1");
    chat.project.session.write("project/notes.txt", "mine\n");
    chat.take();
    chat.wait_for("Not written: 1 file changed since it ran ahead\n  notes.txt was changed meanwhile\n  1 other file without a conflict\n");
    chat.wait_for("  yours:\n    1 - one\n    1 + mine\n  the work's:\n    1 - one\n    1 + two\n");
    chat.wait_for(QUESTION);
    assert_eq!((chat.read("notes.txt").as_deref(), chat.read("tests.txt")), (Some("mine\n"), None));
    chat
}

fn outcome(chat: &Chat) -> String {
    lines(chat, "outcome", 1)[0]["outcome"].as_str().expect("a word").to_owned()
}

#[test]
fn each_way_on_writes_all_in_one_and_nothing_before() {
    let both = "<<<<<<< yours\nmine\n||||||| base\none\n=======\ntwo\n>>>>>>> the work\n";
    for (key, notes) in [("m", "mine\n"), ("t", "two\n"), ("b", both), ("M", "mine\n"), ("T", "two\n")] {
        let mut chat = chat_with_conflict();
        chat.answer_to(QUESTION, key);
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.read("notes.txt").as_deref(), Some(notes), "{key}");
        assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"), "{key}");
        assert_eq!(outcome(&chat), "accepted", "{key}");
        // It was one accept, so one undo takes all of it back.
        let undone = chat.project.session.run(&["undo"]);
        assert_eq!(undone.code, Some(0), "{key}: {undone}");
        assert_eq!(
            (chat.read("notes.txt").as_deref(), chat.read("tests.txt")),
            (Some("mine\n"), None),
            "{key}"
        );
        chat.leave();
    }
}

#[test]
fn the_model_may_be_asked_again() {
    let mut chat = chat_with_conflict();
    chat.answer_to(QUESTION, "a");
    chat.wait_for(
        "notes.txt was changed meanwhile\nnothing of the work ahead was applied; running it anew\n",
    );
    chat.wait_for("I leave the notes to you.");
    assert_eq!((chat.read("notes.txt").as_deref(), chat.read("tests.txt")), (Some("mine\n"), None));
    // Work that was not applied is not shown as if it had been.
    assert_eq!(chat.count("The notes say two."), 0);
    assert_eq!(outcome(&chat), "conflict");
    chat.leave();
}

#[test]
fn esc_writes_nothing_and_leaves_the_prompt_to_its_user() {
    for key in ["\x1b", "\x03"] {
        let mut chat = chat_with_conflict();
        chat.answer_to(QUESTION, key);
        chat.wait_for("nothing was written, and what ran ahead is dropped\n> add tests");
        assert_eq!((chat.read("notes.txt").as_deref(), chat.read("tests.txt")), (Some("mine\n"), None));
        assert_eq!(outcome(&chat), "conflict");
        chat.send("\x15");
        chat.leave();
    }
}

#[test]
fn an_edit_while_it_asks_is_asked_about_again() {
    let mut chat = chat_with_conflict();
    chat.project.session.write("project/notes.txt", "mine anew\n");
    chat.answer_to(QUESTION, "t");
    chat.wait_for("1 + mine anew\n");
    assert_eq!((chat.read("notes.txt").as_deref(), chat.read("tests.txt")), (Some("mine anew\n"), None));
    chat.answer_to(QUESTION, "m");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("mine anew\n"));
    chat.leave();
}

#[test]
fn several_files_have_a_word_each_and_a_capital_answers_for_all_that_is_left() {
    for (keys, expected) in
        [(["m", "T"], ["mine\n", "ahead b\n", "ahead c\n"]), (["t", "M"], ["ahead a\n", "mine\n", "mine\n"])]
    {
        let mut chat = project_with_suggestion()
            .writes(0, "a.txt", "ahead a\n")
            .writes(0, "b.txt", "ahead b\n")
            .writes(0, "c.txt", "ahead c\n")
            .says(0, "All three.")
            .chat_with_ghost("auto-edit");
        chat.wait_for("ready · 3 files +3 -0");
        for name in ["a", "b", "c"] {
            chat.project.session.write(&format!("project/{name}.txt"), "mine\n");
        }
        chat.take();
        chat.wait_for("Not written: 3 files changed");
        chat.answer_to(
            "a.txt (1 of 3):\n[m]ine / [t]heirs / [b]oth with markers / [a]sk again / [d]iff",
            keys[0],
        );
        assert_eq!(chat.read("a.txt").as_deref(), Some("mine\n"), "nothing before the last answer");
        chat.answer_to(
            "b.txt (2 of 3):\n[m]ine / [t]heirs / [b]oth with markers / [a]sk again / [d]iff",
            keys[1],
        );
        chat.wait_for("of this was done ahead");
        let now = ["a.txt", "b.txt", "c.txt"].map(|name| chat.read(name).expect("a file"));
        assert_eq!(now, expected, "{keys:?}");
        chat.leave();
    }
}

#[test]
fn of_a_file_that_was_only_read_the_model_is_asked_again_or_nothing_is_done() {
    for (key, expected) in [("a", "The notes say mine.\n"), ("n", "nothing was written")] {
        let mut chat = project_with_suggestion()
            .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
            .says(0, "The notes say one.")
            .says(0, "The notes say mine.")
            .chat_with_ghost("auto-edit");
        chat.wait_for("ready · an answer of 4 words");
        chat.project.session.write("project/notes.txt", "mine\n");
        chat.take();
        chat.wait_for("notes.txt was read, and was changed meanwhile\n");
        chat.answer_to("notes.txt: [a]sk again / [n]o", key);
        chat.wait_for(expected);
        chat.send("\x15");
        chat.leave();
    }
}

/// Of a file that was deleted on one side, or that is no text, nobody can read markers.
#[test]
fn where_there_are_no_markers_none_are_offered() {
    let question = "notes.txt: [m]ine / [t]heirs / [a]sk again / [d]iff";
    for (key, notes) in [("m", None), ("t", Some("two\n"))] {
        let mut chat = project_with_suggestion()
            .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
            .says(0, "The notes say two.")
            .chat_with_ghost("auto-edit");
        chat.wait_for("ready · 1 file +1 -1");
        std::fs::remove_file(chat.project.session.workspace().join("notes.txt")).expect("it is there");
        chat.take();
        chat.answer_to(question, key);
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.read("notes.txt").as_deref(), notes, "{key}");
        chat.leave();
    }
    let mut chat = project_with_suggestion()
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
        .says(0, "The notes say two.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -1");
    chat.project.session.write("project/notes.txt", "mine\0\n");
    chat.take();
    chat.answer_to(question, "b");
    chat.settle();
    assert_eq!(
        chat.read("notes.txt").as_deref(),
        Some("mine\0\n"),
        "a letter that is not offered answers nothing"
    );
    chat.answer_to(question, "m");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("mine\0\n"));
    chat.leave();
}
