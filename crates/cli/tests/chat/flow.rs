use std::time::{Duration, Instant};

use crate::fixture::{GHOST, project, project_with_suggestion};

#[test]
fn a_turn_shows_its_calls_as_they_run_and_then_suggests_and_works_ahead() {
    let mut chat = project()
        .turn(0, "I look first.", &[("read_file", serde_json::json!({ "file_path": "notes.txt" }))])
        .says(600, "First answer.")
        .suggests("add tests")
        .writes(0, "tests.txt", "tests\n")
        .says(60_000, "never")
        .chat("auto-edit");
    let before = chat.project.session.tree();
    let started = Instant::now();
    chat.send("begin\r");
    chat.wait_until("the call while the turn runs", |screen| {
        let text = screen.contents();
        text.contains("I look first.\n✓ read notes.txt\nworking (Ctrl-C interrupts)\n>")
    });
    assert_eq!(chat.count("[Tab]"), 0);
    chat.wait_for("First answer.");
    chat.wait_for("working · 1 file +1 -0");
    chat.wait_for(GHOST);
    // The answer came after its delay, and the ghost text another 300 ms later.
    assert!(Duration::from_millis(900) <= started.elapsed());
    chat.settle();
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn tab_hands_the_work_over_and_right_with_enter_does_and_the_next_suggestion_is_there_already_twice() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .suggests("run the linter")
        .writes(0, "lint.txt", "clean\n")
        .says(0, "The linter is content.")
        .suggests("describe the change")
        .says(60_000, "never")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("ready · 1 file +1 -0");
    assert_eq!(chat.project.session.tree(), before);
    chat.take();
    chat.wait_for("✓ write tests.txt\nTests are written.\ncreate");
    chat.wait_for("of this was done ahead");
    chat.wait_for("> run the linter  [Tab]");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));

    chat.wait_for("ready · 1 file +1 -0");
    assert_eq!(chat.read("lint.txt"), None);
    // Right only puts the suggestion into the prompt.
    chat.send("\x1b[C");
    chat.wait_for_row("> run the linter");
    chat.send("\r");
    chat.wait_for("The linter is content.\ncreate");
    chat.wait_for("> describe the change  [Tab]");
    assert_eq!(chat.read("lint.txt").as_deref(), Some("clean\n"));
    chat.leave();
}

#[test]
fn enter_on_an_empty_line_accepts_and_sends_nothing() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("✓ ready");
    chat.send("\r\r");
    chat.settle();
    chat.wait_for(GHOST);
    // Blanks are typed text, so they dismiss the suggestion.
    chat.send("  \r\r");
    chat.settle();
    assert_eq!(chat.project.session.tree(), before);
    assert_eq!(chat.count("Tests are written."), 0);
    assert_eq!(chat.count("add tests"), 0, "{}", chat.contents());
    chat.send("\x15");
    chat.leave();
}

#[test]
fn the_same_words_take_the_work_whatever_blanks_and_full_stop_are_around_them() {
    for added in ["  ", ".", " . "] {
        let mut chat = project_with_suggestion()
            .writes(0, "tests.txt", "tests\n")
            .says(0, "Tests are written.")
            .says(0, "Asked again.")
            .chat_with_ghost("auto-edit");
        chat.wait_for("✓ ready");
        chat.insert();
        chat.send(added);
        chat.send("\r");
        chat.wait_for("of this was done ahead");
        assert_eq!(chat.count("Asked again."), 0, "{added:?}");
    }
}

#[test]
fn other_words_after_tab_are_a_prompt_of_their_own() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .says(0, "Asked again.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("✓ ready");
    chat.insert();
    chat.send(" for the parser");
    chat.wait_for_row("> add tests for the parser");
    chat.wait_until_gone("✓ ready");
    chat.send("\r");
    chat.wait_for("> add tests for the parser\nAsked again.");
    chat.settle();
    assert_eq!(chat.count("done ahead"), 0);
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn work_that_still_runs_is_joined() {
    let mut chat = project_with_suggestion()
        .turn(
            0,
            "I write.",
            &[("write_file", serde_json::json!({ "file_path": "tests.txt", "content": "t\n" }))],
        )
        .says(1_200, "Tests are written.")
        .suggests("run the linter")
        .says(60_000, "never")
        .chat_with_ghost("auto-edit");
    chat.wait_for("working · 1 file +1 -0");
    chat.take();
    chat.wait_for("I write.\n✓ write tests.txt\nfinishing what runs already (Ctrl-C interrupts)");
    assert_eq!(chat.count("Tests are written."), 0);
    assert_eq!(chat.read("tests.txt"), None);
    chat.wait_for("✓ write tests.txt\nTests are written.\ncreate");
    chat.wait_for("> run the linter  [Tab]");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("t\n"));
    assert_eq!(chat.count("✓ write"), 1);
    chat.leave();
}

#[test]
fn where_words_take_nothing_whoever_types_another_prompt_is_told_once_that_the_work_is_gone() {
    let project = project_with_suggestion();
    project.session.write("home/.config/headstart/config.toml", "match = 'off'\n");
    let mut chat = project
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .suggests("run the linter")
        .says(0, "Second answer.")
        .suggests("look again")
        .says(0, "It is as it was.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    chat.send("another");
    chat.wait_for("what ran ahead is dropped: it was for the suggestion\n> another");
    chat.send("\r");
    chat.wait_for("Second answer.");
    chat.wait_for("[Tab]");
    chat.wait_for("✓ ready");
    chat.send("yet another");
    chat.wait_until_gone("ready");
    chat.settle();
    assert_eq!(chat.count("what ran ahead is dropped"), 1, "{}", chat.contents());
    chat.empty_the_prompt();
    chat.leave();
}
