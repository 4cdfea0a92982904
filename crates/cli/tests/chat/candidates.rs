//! Holds how a user works with several suggestions in a chat: turning to another one, narrowing them by typing, taking
//! one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Chat, Project, project};
use crate::support::PATIENCE;

const NEXT: &str = "\x1bn";
const PREVIOUS: &str = "\x1bp";
const DOWN: &str = "\x1b[B";
const UP: &str = "\x1b[A";
const ALT_DOWN: &str = "\x1b[1;3B";
const EMPTY_THE_LINE: &str = "\x15";

/// A project whose first turn says `First answer.` and then suggests three prompts. The work ahead stages a file.
fn project_with_three() -> Project {
    let project = project()
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .says(0, "First answer.")
        .suggests("add tests\ncommit this\nCommit and push")
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.");
    configure(&project, "candidates = 3\n");
    project
}

fn configure(project: &Project, lines: &str) {
    project.session.write("home/.config/headstart/config.toml", lines);
}

fn start_chat(project: Project) -> Chat {
    let mut chat = project.chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for_row("> add tests  [Tab] · 2 more");
    chat.wait_for("ready · 1 file +1 -0");
    chat
}

/// The lines of one type in the ledger.
fn lines(chat: &Chat, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(chat.project.session.ledger()).expect("a ledger");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["type"] == kind).collect()
}

/// The outcome of each suggestion, in the order in which the suggestions came.
fn outcomes(chat: &Chat) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let decided = lines(chat, "outcome");
        let shown = lines(chat, "suggestion").into_iter().filter(|line| line.get("suppressed").is_none());
        let ids = shown.map(|line| line["id"].clone());
        let of = |id: Value| decided.iter().rev().find(|line| line["id"] == id);
        let word = |id| of(id).map_or("open", |line| line["outcome"].as_str().expect("a word")).to_owned();
        let outcomes: Vec<_> = ids.map(word).collect();
        // The screen may show shortly before the ledger that a suggestion was taken.
        if !outcomes.iter().any(|outcome| outcome == "open") || deadline < Instant::now() {
            return outcomes;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn keys_turn_to_the_other_suggestions_round_and_round() {
    let mut chat = start_chat(project_with_three());
    let before = chat.project.session.tree();
    for (key, row) in [
        (NEXT, "> commit this  [Tab] · 2 more"),
        (NEXT, "> Commit and push  [Tab] · 2 more"),
        (NEXT, "> add tests  [Tab] · 2 more"),
        (PREVIOUS, "> Commit and push  [Tab] · 2 more"),
        // The keys of the history still work.
        (UP, "> begin"),
        (DOWN, "> Commit and push  [Tab] · 2 more"),
        (PREVIOUS, "> commit this  [Tab] · 2 more"),
        (PREVIOUS, "> add tests  [Tab] · 2 more"),
    ] {
        chat.send(key);
        chat.wait_for_row(row);
    }
    assert_eq!(chat.project.session.tree(), before);
    chat.take();
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(outcomes(&chat), ["accepted", "replaced", "replaced"]);
    chat.leave();
}

#[test]
fn down_lists_all_with_what_ran_and_one_key_takes_one() {
    let mut chat = start_chat(project_with_three());
    chat.send(DOWN);
    chat.wait_for_row("> 1  add tests  ✓ ready · 1 file +1 -0");
    chat.wait_for_row("  2  commit this");
    chat.wait_for_row("  3  Commit and push");
    // What is listed is not shown a second time.
    chat.wait_for_row(">");
    chat.send(UP);
    chat.wait_for_row("> 3  Commit and push");
    chat.send("\x1b");
    chat.wait_for_row("> add tests  [Tab] · 2 more");
    chat.send(DOWN);
    chat.wait_for_row("> 1  add tests  ✓ ready · 1 file +1 -0");
    chat.send("1");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(outcomes(&chat), ["accepted", "aborted", "aborted"]);
    chat.leave();
}

#[test]
fn the_list_opens_over_other_words_which_can_be_called_back() {
    let mut chat = start_chat(project_with_three());
    chat.send("what about this");
    chat.wait_for_row("> what about this");
    chat.send(ALT_DOWN);
    chat.wait_for_row("> 1  add tests  ✓ ready · 1 file +1 -0");
    chat.send("\r");
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.send(UP);
    chat.wait_for_row("> add tests");
    chat.send(UP);
    chat.wait_for_row("> what about this");
    chat.send(EMPTY_THE_LINE);
    chat.wait_for_row(">");
    chat.leave();
}

#[test]
fn another_one_than_the_best_is_taken_and_the_best_leaves_no_trace() {
    let mut chat = start_chat(project_with_three().says(0, "It is committed."));
    let before = chat.project.session.tree();
    chat.send(NEXT);
    chat.wait_for_row("> commit this  [Tab] · 2 more");
    // The work ahead was done for another suggestion; what stays on the screen for a moment runs too.
    chat.wait_for("✓ ready · an answer of 3 words");
    chat.take();
    chat.wait_for("> commit this\nIt is committed.");
    assert_eq!(chat.project.session.tree(), before);
    assert_eq!(outcomes(&chat), ["replaced", "accepted", "aborted"]);
    chat.leave();
}

#[test]
fn typing_narrows_them_and_the_rest_of_one_shows() {
    let mut chat = start_chat(project_with_three());
    for (keys, row) in [
        ("c", "> commit this  [Tab] · 1 more"),
        (NEXT, "> commit and push  [Tab] · 1 more"),
        ("omm", "> commit and push  [Tab] · 1 more"),
        (PREVIOUS, "> commit this  [Tab] · 1 more"),
        ("it a", "> commit and push  [Tab]"),
        ("\x7f\x7f\x7f\x7f\x7f\x7f", "> commit this  [Tab] · 1 more"),
        (EMPTY_THE_LINE, "> commit this  [Tab] · 2 more"),
        ("a", "> add tests  [Tab]"),
        ("dd ", "> add tests  [Tab]"),
    ] {
        chat.send(keys);
        chat.wait_for_row(row);
    }
    // Only the part that is not typed is dim.
    chat.wait_until("the rest is dim", |screen| {
        let (row, column) = screen.cursor_position();
        let dim = |column| screen.cell(row, column).is_some_and(vt100::Cell::dim);
        column == 6 && !dim(5) && dim(6)
    });
    chat.wait_for("ready · 1 file +1 -0");
    chat.take();
    chat.wait_for("of this was done ahead");
    chat.leave();
}

#[test]
fn tab_brings_the_suggestions_own_spelling_so_that_its_work_is_taken() {
    let mut chat = start_chat(project_with_three());
    chat.send("ADD");
    chat.wait_for_row("> ADD tests  [Tab]");
    chat.settle();
    chat.send("\x01\t");
    chat.wait_for("> add tests\n");
    chat.wait_for("of this was done ahead");
    chat.leave();
}

#[test]
fn who_types_a_suggestion_to_its_end_takes_its_work() {
    // The suggestion is typed, pasted, typed with a pause before Enter, or typed and pasted in parts.
    for keys in ["add tests\r", "\x1b[200~add tests\x1b[201~\r", "add tests", "add te\x1b[200~sts\x1b[201~\r"]
    {
        let mut chat = start_chat(project_with_three());
        chat.send(keys);
        if !keys.ends_with('\r') {
            chat.wait_for_row("> add tests");
            chat.wait_for("ready · 1 file +1 -0");
            chat.send("\r");
        }
        chat.wait_for("of this was done ahead");
        assert_eq!(outcomes(&chat), ["accepted", "aborted", "aborted"], "{keys:?}");
        chat.leave();
    }
}

#[test]
fn what_none_begins_with_brings_all_of_them_back_once_it_is_deleted() {
    for (keys, row, again, expected) in [
        ("x", "> x", "> add tests  [Tab] · 2 more", ["aborted", "aborted", "aborted"]),
        ("xy", "> xy", "> add tests  [Tab] · 2 more", ["aborted", "aborted", "aborted"]),
        ("commit thus", "> commit thus", "> add tests  [Tab] · 2 more", ["aborted", "aborted", "aborted"]),
        ("\x1b", ">", ">", ["ignored", "aborted", "aborted"]),
    ] {
        let mut chat = start_chat(project_with_three());
        chat.send(keys);
        chat.wait_until_gone("✓ ready");
        chat.wait_for_row(row);
        chat.send(EMPTY_THE_LINE);
        chat.wait_for_row(again);
        if again == ">" {
            chat.send(NEXT);
            chat.send(DOWN);
            chat.settle();
            assert_eq!(chat.count("[Tab]"), 0, "{keys:?}: {}", chat.contents());
        }
        chat.send("\x04");
        assert_eq!(outcomes(&chat), expected, "{keys:?}");
    }
}

#[test]
fn a_command_and_a_prompt_that_is_sent_leave_nothing_half_typed_behind() {
    let mut chat = start_chat(project_with_three());
    // The beginning of a suggestion becomes a command.
    chat.send("c");
    chat.wait_for_row("> commit this  [Tab] · 1 more");
    chat.send("\x01/diff \x0b\r");
    chat.wait_for("1 + tests");
    chat.wait_for_row("> add tests  [Tab] · 2 more");
    chat.leave();
}

#[test]
fn one_query_is_one_query_in_the_ledger() {
    let mut chat = start_chat(project_with_three().suggests("run the linter").says(60_000, "never"));
    chat.take();
    chat.wait_for_row("> run the linter  [Tab]");
    let suggestions = lines(&chat, "suggestion");
    assert_eq!(suggestions[0].get("beside"), None);
    assert_eq!(suggestions[1]["beside"], suggestions[0]["id"]);
    assert_eq!(suggestions[2]["kind"], "commit");
    chat.leave_keeping(|session| {
        let total = session.run(&["stats", "--json"]).json().remove(0);
        // Two are counted: one for the three suggestions, and one for what comes after them.
        assert_eq!((&total["speculations"], &total["suggestions"]), (&json!(2), &json!(2)));
    });
}

#[test]
fn what_comes_after_accepted_work_comes_in_several_too() {
    let mut chat = start_chat(project_with_three().suggests("run the linter\npush it").says(60_000, "never"));
    chat.take();
    chat.wait_for_row("> run the linter  [Tab] · 1 more");
    chat.send(NEXT);
    chat.wait_for_row("> push it  [Tab] · 1 more");
    chat.leave();
}

#[test]
fn by_default_there_are_up_to_three_and_a_setting_leaves_one() {
    for (settings, row, number) in
        [("", "> add tests  [Tab] · 2 more", 3), ("candidates = 1\n", "> add tests  [Tab]", 1)]
    {
        let project = project_with_three();
        configure(&project, settings);
        let mut chat = project.chat("auto-edit");
        chat.send("begin\r");
        chat.wait_for_row(row);
        if number == 1 {
            chat.send(NEXT);
            chat.send(DOWN);
            chat.settle();
            chat.wait_for_row(row);
        }
        assert_eq!(lines(&chat, "suggestion").len(), number);
        chat.leave();
    }
}

#[test]
fn a_narrow_terminal_holds_the_sign_too() {
    let mut chat = project_with_three().chat_in("auto-edit", 20, 24);
    chat.send("begin\r");
    chat.wait_for("> add tests  [Tab] ·\n   2 more");
    chat.leave();
}
