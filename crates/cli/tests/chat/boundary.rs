//! Work that stopped at a call which needs the user's consent.

use crate::fixture::{Chat, project_with_suggestion};

/// The work ahead staged a file and stopped at a command; the user took it, and is asked.
fn asked_for_the_command() -> Chat {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .shell(0, "touch made.txt && echo done")
        .says(0, "The model was asked once more.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("ready, then asks: touch made.txt && echo done (writes) · 1 file");
    chat.settle();
    assert_eq!(chat.project.session.tree(), before);
    chat.take();
    chat.wait_for("shell wants to run\n  command: touch made.txt && echo done\n");
    chat.wait_for("run this?");
    // What was finished is applied, the command did not run, and it is shown once.
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.count("✓ shell"), 0);
    assert_eq!(chat.count("asked once more"), 0);
    chat
}

// Row: S20
#[test]
fn yes_runs_the_call_and_goes_on() {
    let mut chat = asked_for_the_command();
    chat.answer("y");
    chat.wait_for("The model was asked once more.");
    assert_eq!(chat.read("made.txt").as_deref(), Some(""));
    assert_eq!(chat.count("✓ shell"), 1);
    chat.leave();
}

// Row: S4
#[test]
fn no_tells_the_model() {
    let mut chat = asked_for_the_command();
    chat.answer("n");
    chat.wait_for("  no\n– shell touch made.txt && echo done\nThe model was asked once more.");
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn enter_and_early_keys_answer_nothing_and_ctrl_c_interrupts() {
    let mut chat = asked_for_the_command();
    // Typed before the question could be read.
    chat.send("\ry\r");
    chat.answer("\r\t x");
    chat.settle();
    chat.wait_for("run this?");
    chat.send("\x03");
    chat.wait_for("  no\n– shell touch made.txt && echo done\ninterrupted\n>");
    chat.settle();
    assert_eq!(chat.count("asked once more"), 0);
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}
