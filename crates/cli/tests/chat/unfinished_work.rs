//! Holds what happens when the user takes work ahead that has not ended.

use crate::fixture::{Project, project_with_suggestion};

/// Writes this text into the user's configuration file.
fn configured(project: Project, text: &str) -> Project {
    project.session.write("home/.config/headstart/config.toml", text);
    project
}

#[test]
fn a_joined_run_that_comes_to_a_boundary_asks_in_place_and_goes_on() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .shell(1_500, "touch made.txt")
        .says(0, "The model was asked once more.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("working · 1 file +1 -0");
    chat.take();
    // What is done already is shown immediately, and the rest as it comes.
    chat.wait_for("✓ write tests.txt\nfinishing what runs already");
    chat.answer("y");
    chat.wait_for("  yes\n✓ shell touch made.txt\nThe model was asked once more.");
    assert_eq!(chat.count("✓ shell"), 1);
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.read("made.txt").as_deref(), Some(""));
    chat.leave();
}

#[test]
fn a_run_that_reached_a_limit_goes_on_in_the_foreground() {
    let project = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .writes(0, "more.txt", "more\n")
        .says(0, "Both are written.");
    let mut chat = configured(project, "[limits]\nturns = 1\n").chat_with_ghost("auto-edit");
    chat.wait_for("stopped · limit of turns · 1 file +1 -0");
    chat.take();
    chat.wait_for("the work ahead ended early (stopped at the limit of turns); going on\nfrom there\n");
    chat.wait_for("✓ write more.txt  +1\n    1 + more\nBoth are written.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.read("more.txt").as_deref(), Some("more\n"));
    chat.leave();
}

#[test]
fn a_run_that_failed_goes_on_in_the_foreground() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, " ")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("stopped · the model's answer was empty · 1 file +1 -0");
    chat.take();
    chat.wait_for("the work ahead ended early (the model's answer was empty); going on from\nthere\n");
    chat.wait_for("Tests are written.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn whoever_wants_nothing_of_what_stopped_at_a_boundary_gets_it_anew() {
    let project = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .shell(0, "touch made.txt")
        .says(0, "I asked nobody this time.");
    let mut chat = configured(project, "at_boundary = 'discard'\n").chat_with_ghost("auto-edit");
    chat.wait_for("ready, then asks: touch made.txt (writes) · 1 file +1 -0");
    chat.take();
    chat.wait_for("it stopped at a call that needs your consent\nnothing of the work ahead was applied; running it anew\n");
    chat.wait_for("I asked nobody this time.");
    assert_eq!(chat.read("tests.txt"), None);
    chat.leave();
}
