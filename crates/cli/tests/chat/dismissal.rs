//! Holds that work which ran ahead and is not wanted leaves no trace.

use crate::fixture::{GHOST, project, project_with_suggestion};

/// Checks this for `keys`, which the user presses when the work ahead has staged a file and is still running. What was
/// typed past comes back once the line is empty again, and is dropped with the next prompt.
fn leaves_no_trace(keys: &str, expected_row: &str) {
    let comes_back = keys != "\x1b";
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(60_000, "never")
        .says(0, "Another answer.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("working · 1 file +1 -0");
    chat.send(keys);
    chat.wait_until_gone("ahead working");
    chat.wait_for_row(expected_row);
    chat.settle();
    assert_eq!(chat.count("[Tab]"), 0);
    chat.send("\x05\x15");
    if comes_back {
        chat.wait_for_row(GHOST);
        chat.wait_for("working · 1 file +1 -0");
    } else {
        chat.send("/diff\r");
        chat.wait_for("nothing is staged");
        chat.send("\t\x1b[C\r");
        chat.settle();
        assert_eq!(chat.count("add tests"), 0, "{}", chat.contents());
        chat.wait_for_processes(1);
    }
    chat.send("something else\r");
    chat.wait_for("Another answer.");
    chat.wait_for_processes(1);
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn esc_dismisses_and_aborts() {
    leaves_no_trace("\x1b", ">");
}

#[test]
fn what_is_typed_past_and_not_sent_is_dropped_with_the_next_prompt() {
    leaves_no_trace("xy", "> xy");
}

#[test]
fn a_slip_that_is_not_taken_back_is_no_reason_to_drop_anything() {
    leaves_no_trace("x", "> x");
}

#[test]
fn a_slip_that_is_taken_back_brings_the_suggestion_and_its_work_back() {
    for (slip, back) in [("x", "\x7f"), ("add x", "\x7f"), ("add tests!", "\x7f\x15")] {
        let mut chat = project_with_suggestion()
            .writes(0, "tests.txt", "tests\n")
            .says(0, "Tests are written.")
            .chat_with_ghost("auto-edit");
        chat.wait_for("ready · 1 file +1 -0");
        chat.send(slip);
        chat.wait_until_gone("[Tab]");
        chat.send(back);
        chat.wait_for_row(GHOST);
        chat.take();
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"), "{slip:?}");
        chat.leave();
    }
}

#[test]
fn what_is_pasted_past_is_dropped_with_the_next_prompt() {
    leaves_no_trace("\x1b[200~add testing\x1b[201~", "> add testing");
}

#[test]
fn going_past_the_suggestion_drops_it_with_the_next_prompt() {
    leaves_no_trace("add tests, please", "> add tests, please");
}

#[test]
fn editing_what_right_has_put_into_the_prompt_drops_it_with_the_next_one() {
    leaves_no_trace("\x1b[C\x01my ", "> my add tests");
}

#[test]
fn emptying_the_line_after_right_brings_the_suggestion_back() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -0");
    chat.insert();
    chat.wait_for_row("> add tests");
    chat.send("\x15");
    chat.wait_for_row(GHOST);
    chat.take();
    chat.wait_for("of this was done ahead");
    chat.leave();
}

#[test]
fn a_command_leaves_the_suggestion_where_it_is() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -0");
    chat.send("/diff\r");
    chat.wait_for("    1 + tests\n");
    chat.wait_for_row(GHOST);
    chat.send("/nothing\r");
    chat.wait_for("there is no command /nothing");
    // A command is typed and deleted, and one is called back from the history.
    chat.send("/d\x7f\x7f");
    chat.wait_for_row(GHOST);
    chat.send("\x1b[A");
    chat.wait_for_row("> /nothing");
    chat.send("\x1b[B");
    chat.wait_for_row(GHOST);
    assert_eq!(chat.read("tests.txt"), None);
    chat.take();
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn clear_forgets_the_suggestion_too() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(60_000, "never")
        .chat_with_ghost("auto-edit");
    chat.wait_for("working · 1 file");
    chat.send("/clear\r");
    chat.wait_for("the conversation is forgotten");
    chat.wait_for_row(">");
    chat.settle();
    assert_eq!(chat.count("[Tab]") + chat.count("ahead working"), 0);
    assert_eq!(chat.read("tests.txt"), None);
    chat.leave();
}

#[test]
fn whoever_types_already_is_not_disturbed() {
    let mut chat = project()
        .calls(0, "read_file", serde_json::json!({ "file_path": "notes.txt" }))
        .says(1_000, "First answer.")
        .suggests("add tests")
        .writes(0, "tests.txt", "tests\n")
        .chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("working (Ctrl-C interrupts)");
    chat.send("and the");
    chat.wait_for("First answer.");
    chat.settle();
    chat.wait_for_row("> and the");
    assert_eq!(chat.count("ahead") + chat.count("[Tab]"), 0);
    // Nor is anything shown later, because no suggestion was asked for.
    chat.send("\x15");
    chat.settle();
    assert_eq!(chat.count("ahead") + chat.count("[Tab]"), 0);
    chat.leave();
}

#[test]
fn giving_up_ends_the_command_that_runs_ahead() {
    for keys in ["\x1b", "xy", "x", "/clear\r", "/mode plan\r", "something else\r"] {
        let mut chat = project_with_suggestion()
            .shell(0, "sleep 9")
            .says(0, "Another answer.")
            .chat_with_ghost("auto-edit");
        chat.wait_for_command("sleep 9");
        chat.send(keys);
        chat.wait_for_processes(1);
        chat.send("\x15");
        chat.wait_for_row(if keys.starts_with('x') { GHOST } else { ">" });
        chat.leave();
    }
}
