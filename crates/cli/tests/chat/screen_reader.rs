//! Holds how a chat works for a user who listens to it: it consists of lines, each written once, and questions are
//! answered with words.

use crate::fixture::{Chat, Project, project, project_with_suggestion};

fn screen_reader_chat(project: Project, mode: &str) -> Chat {
    let arguments = [project.arguments(mode), vec!["--screen-reader".to_owned()]].concat();
    let chat = Chat::without_prompt(project, &arguments, 100, 60);
    chat.wait_for("This chat is lines to be read aloud, by --screen-reader.");
    chat
}

#[test]
fn a_suggestion_is_a_line_and_a_line_with_a_tab_takes_it() {
    let work = project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Second answer.");
    let mut chat = screen_reader_chat(work, "auto-edit");
    chat.send("begin\n");
    chat.wait_for("tool: done: read notes.txt");
    chat.wait_for("model: First answer.");
    chat.wait_for("suggestion: add tests. Tab and Enter takes it.");
    chat.wait_for("ahead: done: ready, 1 file +1 -0");
    chat.settle();
    assert_eq!(chat.read("tests.txt"), None);
    chat.send("\t\n");
    chat.wait_for("you: add tests");
    chat.wait_for("model: Second answer.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.count("First answer."), 1, "nothing is drawn again");
    chat.send("/quit\n");
    assert_eq!(chat.exit_code(), 0);
    let written = chat.written();
    assert!(!written.contains('\x1b'), "{written:?}");
}

#[test]
fn a_question_is_answered_by_a_word_and_by_nothing_else() {
    let work = project().shell(0, "touch made.txt").shell(0, "touch more.txt").says(0, "Done.");
    let mut chat = screen_reader_chat(work, "default");
    chat.send("begin\n");
    chat.wait_for("question: run this? Answer with a word and Enter: yes;");
    assert_eq!(chat.written().matches('\x07').count(), 1);
    // A word that arrives together with the question is no answer to it.
    chat.send("y\n");
    chat.wait_for("No answer. The question stands:");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    chat.send("of course\n");
    chat.settle();
    assert_eq!(chat.read("made.txt"), None);
    chat.send("yes\n");
    chat.wait_for("tool: done: shell touch made.txt");
    assert_eq!(chat.read("made.txt").as_deref(), Some(""));
    chat.wait_for("touch more.txt");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    chat.send("why not\n");
    chat.wait_for("Why not? A line tells the model");
    chat.send("one is enough\n");
    chat.wait_for("no: one is enough");
    chat.wait_for("model: Done.");
    assert_eq!(chat.read("more.txt"), None);
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn ctrl_c_interrupts_the_turn_and_what_was_queued_waits_in_the_prompt() {
    let work = project().shell(0, "sleep 9").says(0, "never").says(0, "After all.");
    let mut chat = screen_reader_chat(work, "yolo");
    chat.send("begin\n");
    chat.wait_for_command("sleep 9");
    chat.send("and then\n");
    chat.wait_for("next: and then");
    chat.send("\x03");
    chat.wait_for("interrupted");
    chat.wait_for("tool: did not finish: shell sleep 9");
    chat.wait_for("In the prompt: and then. Enter alone sends it");
    chat.send("\n");
    chat.wait_for("you: and then");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn the_variable_and_the_users_file_choose_it_too() {
    let project = project()
        .says(0, "| a | b |\n| --- | --- |\n| one | two |\n")
        .variable("HEADSTART_SCREEN_READER", "on");
    let arguments = project.arguments("default");
    let mut chat = Chat::without_prompt(project, &arguments, 100, 60);
    chat.wait_for("by HEADSTART_SCREEN_READER");
    chat.send("begin\n");
    chat.wait_for("model: a: one\nb: two");
    chat.send("/quit\n");
    assert_eq!(chat.exit_code(), 0);
}
