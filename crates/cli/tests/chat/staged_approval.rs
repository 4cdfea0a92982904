//! Holds that in the default mode edits are staged ahead, and that the user is asked about them once, when the work is
//! taken.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use crate::fixture::{Chat, GHOST, Project, project_with_suggestion};
use crate::ledger::lines;

const QUESTION: &str = "write this? [y]es / [d]iff / [n]o";

/// The work ahead edits a file, makes one, and is done.
fn project() -> Project {
    project_with_suggestion()
        .calls(
            0,
            "edit",
            json!({ "file_path": "notes.txt", "old_string": "one\n", "new_string": "two\nthree\n" }),
        )
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
}

/// A chat in which the user has pressed Tab and is asked.
fn chat_with_question(project: Project) -> Chat {
    let mut chat = project.chat_with_ghost("default");
    let before = chat.project.session.tree();
    chat.wait_for("ahead ✓ ready · 2 files +3 -1");
    chat.take();
    chat.wait_for(QUESTION);
    assert_eq!(chat.project.session.tree(), before, "nothing is written before the answer");
    chat
}

fn outcome(chat: &Chat) -> String {
    lines(chat, "outcome", 1)[0]["outcome"].as_str().unwrap().to_owned()
}

#[test]
fn yes_writes_all_that_was_shown() {
    let mut chat = chat_with_question(project());
    chat.wait_for("Take what ran ahead?  2 files +3 -1\nedit    notes.txt  +2 -1\ncreate  tests.txt  +1\n");
    chat.wait_for("edit notes.txt  +2 -1\n    1 - one\n    1 + two\n    2 + three\n");
    chat.wait_for("create tests.txt  +1\n    1 + tests\n");
    chat.wait_for("\nIt says: Tests are written.\n");
    chat.answer_about_changes("y");
    chat.wait_for("  yes\n✓ edit notes.txt\n✓ write tests.txt\nTests are written.\n");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\nthree\n"));
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.count("run this?"), 0);
    assert_eq!(outcome(&chat), "accepted");
    chat.leave();
}

/// A chat in a repository whose work ahead writes a file that git ignores.
fn chat_that_leaves_out(command: &str) -> Chat {
    let project =
        project_with_suggestion().variable("HEADSTART_SHADOW", "").shell(0, command).says(0, "Done.");
    project.session.write("project/.gitignore", "*.db\n");
    project.session.git(&["init", "-q"]);
    let mut chat = project.chat_with_ghost("default");
    chat.wait_for("not kept: local.db");
    chat.take();
    chat
}

#[test]
fn k_keeps_what_an_accept_leaves_out() {
    for (command, question) in [
        ("echo 1 > local.db", "take this? [y]es / [k]eep all / [d]iff / [n]o"),
        ("echo 1 > local.db; echo 2 > made.txt", "write this? [y]es / [k]eep all / [d]iff / [n]o"),
    ] {
        let mut chat = chat_that_leaves_out(command);
        chat.wait_for("not kept: local.db · k keeps them\n");
        assert_eq!(chat.read("local.db"), None);
        chat.answer_to(question, "d");
        chat.wait_for("k would add:");
        chat.wait_for("local.db");
        chat.wait_for("1 + 1");
        chat.send("q");
        chat.answer_to(question, "k");
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.read("local.db").as_deref(), Some("1\n"), "{command}");
        assert_eq!(chat.read("made.txt").is_some(), command.contains("made"));
        chat.send("/undo\r");
        chat.wait_for("local.db");
        chat.settle();
        assert_eq!(chat.read("local.db"), None, "{command}");
        chat.leave();
    }
    let mut chat = chat_that_leaves_out("echo 1 > local.db");
    chat.answer_to("take this?", "y");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("local.db"), None);
    chat.leave();
}

#[test]
fn a_question_about_one_file_names_it_once() {
    for columns in [80, 120] {
        let edit = json!({ "file_path": "notes.txt", "old_string": "one\n", "new_string": "two\nthree\n" });
        let project = project_with_suggestion().calls(0, "edit", edit).says(0, "It is edited.");
        let mut chat = project.chat_with_ghost_in("default", columns);
        chat.wait_for("ahead ✓ ready · 1 file +2 -1");
        chat.take();
        chat.wait_for(QUESTION);
        let screen = chat.contents();
        let (_, asked) = screen.split_once("Take what ran ahead?  1 file +2 -1\n").unwrap();
        assert!(asked.starts_with("edit  notes.txt  +2 -1\n    1 - one\n    1 + two\n"), "{screen}");
        assert_eq!(asked.matches("notes.txt").count(), 1, "{screen}");
        chat.answer_about_changes("y");
        chat.wait_for("\nIt is edited.\n");
        chat.leave();
    }
}

#[test]
fn no_drops_the_work_and_leaves_the_prompt_to_its_user() {
    for key in ["n", "\x1b", "\x03", "\x04"] {
        let mut chat = chat_with_question(project().says(0, "Asked anew."));
        let before = chat.project.session.tree();
        chat.answer_about_changes(key);
        chat.wait_for("  no: nothing was written, and what ran ahead is dropped\n> add tests");
        chat.settle();
        assert_eq!(chat.project.session.tree(), before, "{key:?}");
        assert_eq!(chat.count("Asked anew."), 0, "{key:?}");
        assert_eq!(outcome(&chat), "ignored", "{key:?}");
        chat.send("\r");
        chat.wait_for("Asked anew.");
        chat.leave();
    }
}

#[test]
fn early_keys_a_held_key_enter_tab_and_a_paste_answer_nothing() {
    let mut chat = project().chat_with_ghost("default");
    let before = chat.project.session.tree();
    chat.wait_for("✓ ready");
    chat.take();
    // A key is held from before the question on, so the keyboard is never quiet.
    for _ in 0..40 {
        chat.send("y");
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
    chat.answer_about_changes("\x1b[200~y\x1b[201~");
    chat.send("\r\t\x1b[C x");
    chat.settle();
    chat.wait_for(QUESTION);
    assert_eq!(chat.project.session.tree(), before);
    chat.answer_about_changes("y");
    chat.wait_for("of this was done ahead");
    // The keys that came before the question were typed into the prompt.
    chat.send("\x15");
    chat.leave();
}

#[test]
fn a_long_diff_is_shown_as_far_as_it_fits_and_d_shows_all() {
    let content = (0..60).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let project = project_with_suggestion().writes(0, "long.txt", &content).says(0, "It is long.");
    let mut chat = project.chat_in("default", 72, 24);
    chat.send("begin\r");
    chat.wait_for_row(GHOST);
    chat.wait_for("ready · 1 file +60 -0");
    let before = chat.project.session.tree();
    chat.take();
    chat.wait_for("… 48 more lines in 1 hunk: d shows all");
    assert_eq!(chat.count("+ line 59"), 0);
    chat.answer_about_changes("d");
    chat.wait_for("what would be written · ");
    // While the reader is open, keys belong to it, and a letter immediately after the key that leaves it does not
    // answer the question.
    chat.send("yG");
    chat.wait_for("60 + line 59\n");
    chat.send("qy");
    chat.wait_until_gone("what would be written · ");
    chat.wait_for(QUESTION);
    chat.settle();
    chat.send("\x14");
    chat.wait_for("conversation · ");
    chat.wait_for("First answer.");
    chat.send("q");
    chat.wait_until_gone("conversation · ");
    chat.wait_for(QUESTION);
    assert_eq!(chat.project.session.tree(), before);
    chat.answer_about_changes("y");
    chat.wait_for("\nIt is long.\n");
    assert_eq!(chat.read("long.txt").as_deref(), Some(&*content));
    chat.leave();
}

#[test]
fn a_call_behind_the_changes_is_named_before_and_asked_by_itself() {
    let project = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .shell(0, "touch made.txt")
        .says(0, "Both are done.");
    let mut chat = project.chat_with_ghost("default");
    chat.wait_for("ahead ✓ ready, then asks: touch made.txt (writes) · 1 file +1 -0");
    chat.take();
    chat.wait_for("After that it asks: shell touch made.txt\n");
    chat.answer_about_changes("y");
    chat.wait_for("shell wants to run\n  command: touch made.txt\n");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.read("made.txt"), None);
    chat.answer("y");
    chat.wait_for("Both are done.");
    assert_eq!(chat.read("made.txt").as_deref(), Some(""));
    chat.leave();
}

#[test]
fn work_without_changes_is_not_asked_about() {
    let mut chat = project_with_suggestion()
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .says(0, "The notes say one.")
        .chat_with_ghost("default");
    chat.wait_for("ahead ✓ ready · an answer of 4 words");
    chat.take();
    chat.wait_for("The notes say one.");
    assert_eq!(chat.count("[y]es"), 0);
    chat.leave();
}

#[test]
fn an_edit_while_the_question_stands_is_kept() {
    let mut chat = chat_with_question(project().says(0, "I leave the notes to you."));
    chat.project.session.write("project/notes.txt", "mine\n");
    chat.answer_about_changes("y");
    chat.wait_for("Not written: 1 file changed since it ran ahead\n  notes.txt was changed meanwhile\n");
    assert_eq!(chat.read("tests.txt"), None);
    // The yes also counts after the choice, so the user is not asked again.
    chat.answer_to("[m]ine / [t]heirs", "m");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.count("write this?"), 0);
    assert_eq!(chat.read("notes.txt").as_deref(), Some("mine\n"));
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn plan_mode_drops_what_was_staged() {
    let mut chat = project().chat_with_ghost("default");
    chat.wait_for("ahead ✓ ready · 2 files +3 -1");
    chat.send("/mode plan\r");
    chat.wait_for("what ran ahead is dropped");
    chat.send("\t");
    chat.settle();
    assert_eq!(chat.count("[y]es") + chat.count("Take what"), 0);
    assert_eq!(chat.read("notes.txt").as_deref(), Some("one\n"));
    chat.leave();
}

#[test]
fn whoever_leaves_while_they_are_asked_gets_nothing() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut chat = chat_with_question(project());
        let before = chat.project.session.tree();
        chat.kill(signal);
        assert_ne!(chat.exit_code(), 0, "{signal}");
        assert_eq!(chat.project.session.tree(), before, "{signal}");
        chat.assert_nothing_is_left();
        assert_eq!(outcome(&chat), "aborted");
    }
}

#[test]
fn work_that_still_runs_is_joined_and_then_asked_about() {
    let project =
        project_with_suggestion().writes(0, "tests.txt", "tests\n").says(4_000, "Tests are written.");
    let mut chat = project.chat_with_ghost("default");
    let before = chat.project.session.tree();
    chat.wait_for("ahead working · 1 file +1 -0");
    chat.take();
    chat.wait_for("finishing what runs already");
    chat.wait_for(QUESTION);
    assert_eq!(chat.project.session.tree(), before);
    chat.answer_about_changes("y");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(outcome(&chat), "joined");
    chat.leave();
}

#[test]
fn whoever_prefers_it_has_tab_insert_and_a_second_tab_or_enter_take() {
    for second in ["\t", "\r"] {
        let project = project();
        project.session.write("home/.config/headstart/config.toml", "tab = \"insert\"\n");
        let mut chat = project.chat_with_ghost("auto-edit");
        let before = chat.project.session.tree();
        chat.wait_for("ahead ✓ ready · 2 files +3 -1");
        // A key that is held counts as one key.
        chat.send("\t\t");
        chat.wait_for_row("> add tests");
        chat.settle();
        chat.wait_for_row("> add tests");
        assert_eq!(chat.project.session.tree(), before);
        chat.send(second);
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"), "{second:?}");
        chat.leave();
    }
}

#[test]
fn several_calls_of_an_answer_say_which_of_them_is_asked_about() {
    let write = |path: &str| json!({ "file_path": path, "content": "x\n" });
    let (one, two, three) = (write("one.txt"), write("two.txt"), write("three.txt"));
    let look = json!({ "file_path": "notes.txt" });
    let calls = [("write_file", one), ("read_file", look), ("write_file", two)];
    let mut chat = crate::fixture::project()
        .turn(0, "", &calls)
        .calls(0, "write_file", three)
        .says(0, "Two of three.")
        .chat("default");
    chat.send("begin\r");
    chat.answer_to("run this? (1 of 2)", "n");
    chat.answer_to("run this? (2 of 2)", "y");
    // A single question is not counted.
    chat.wait_for("create three.txt");
    chat.answer_to("run this?\n", "y");
    chat.wait_for("Two of three.");
    let there = ["one.txt", "two.txt", "three.txt"].map(|name| chat.read(name).is_some());
    assert_eq!(there, [false, true, true]);
    chat.leave();
}
