//! Holds what happens with turns that are interrupted, fail, or wait for the turn before them.

use serde_json::json;

use crate::fixture::{Chat, GHOST, project, project_with_suggestion};
use crate::support::server::{ScriptedResponse, Server, StreamStep, says};

#[test]
fn ctrl_c_interrupts_a_turn_and_keeps_what_was_done() {
    let mut chat = project()
        .writes(0, "made.txt", "made\n")
        .says(60_000, "never")
        .says(0, "We go on.")
        .chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("✓ write made.txt  +1\n    1 + made\nworking (Ctrl-C interrupts)");
    while chat.read("made.txt").is_none() {
        std::thread::yield_now();
    }
    chat.send("\x03");
    chat.wait_for("✓ write made.txt  +1\n    1 + made\ninterrupted\n>");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.send("go on\r");
    chat.wait_for("We go on.");
    chat.leave();
}

#[test]
fn how_a_command_failed_is_told() {
    let mut chat = project()
        .shell(0, "echo out; exit 3")
        .shell(0, "kill -9 $$")
        .writes(0, "made.txt", "[exit code 4]\n")
        .calls(0, "read_file", json!({ "file_path": "made.txt" }))
        .says(0, "All is well.")
        .chat("yolo");
    chat.send("begin\r");
    chat.wait_for("✗ shell echo out; exit 3  exit 3\n  out\n✗ shell kill -9 $$  ended by a signal\n✓ write");
    chat.wait_for("✓ write made.txt  +1\n    1 + [exit code 4]\n✓ read made.txt\nAll is well.");
    chat.leave();
}

#[test]
fn what_a_command_printed_is_shown_in_short() {
    let mut chat = project()
        .shell(0, "seq 100; printf '\\033[2Jx'")
        .shell(0, "seq 8")
        .shell(0, "true")
        .says(0, "All is well.")
        .chat("yolo");
    chat.send("begin\r");
    chat.wait_for("\n  1\n  2\n  … 96 more lines (Ctrl-T)\n  99\n  100\n  \\u{1b}[2Jx\n✓ shell seq 8\n  1\n");
    chat.wait_for("\n  7\n  8\n✓ shell true\nAll is well.");
    chat.leave();
}

#[test]
fn ctrl_c_ends_the_command_of_a_turn() {
    let mut chat = project().shell(0, "sleep 9").says(0, "We go on.").chat("yolo");
    chat.send("begin\r");
    chat.wait_for("● shell sleep 9");
    chat.wait_for_command("sleep 9");
    chat.send("\x03");
    // The prompt has a result, the call that was cut off, so it is not in the line again.
    chat.wait_for("interrupted\n>");
    chat.wait_for_processes(1);
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn ctrl_c_gives_joined_work_up_and_says_that_nothing_was_applied() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(60_000, "never")
        .says(0, "We go on.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("working · 1 file +1 -0");
    chat.take();
    chat.wait_for("finishing what runs already");
    chat.send("\x03");
    chat.wait_for("interrupted\nnothing of the work ahead was applied\n>");
    assert_eq!(chat.project.session.tree(), before);
    chat.empty_the_prompt();
    chat.send("go on\r");
    chat.wait_for("We go on.");
    chat.leave();
}

#[test]
fn an_exhausted_recording_is_told_and_the_chat_goes_on() {
    let mut chat = project().says(0, "Only answer.").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("Only answer.");
    for word in ["anew", "again"] {
        chat.send(&format!("{word}\r"));
        chat.wait_for(&format!("> {word}\nthe recording has no turn left after 1\n> {word}"));
        chat.empty_the_prompt();
        chat.send("/clear\r");
        chat.wait_for("forgotten");
    }
    chat.send("\x1b[A\x1b[A");
    chat.wait_for_row("> again");
    chat.send("\x15");
    chat.leave();
}

#[test]
fn prompts_that_are_sent_meanwhile_wait_for_their_turn() {
    let mut chat = project()
        .says(800, "First answer.")
        .says(0, "Second answer.")
        .says(0, "Third answer.")
        .chat("auto-edit");
    chat.send("one\r");
    chat.wait_for("working (Ctrl-C interrupts)");
    chat.send("two\rthree\r");
    chat.wait_for("next: two\nnext: three\n");
    chat.wait_for("First answer.\n\n> two\nSecond answer.\n\n> three\nThird answer.");
    chat.leave();
}

#[test]
fn ctrl_c_interrupts_also_while_something_is_typed_and_keeps_it() {
    let mut chat = project().shell(0, "sleep 9").says(0, "We go on.").chat("yolo");
    chat.send("begin\r");
    chat.wait_for_command("sleep 9");
    chat.send("half a word");
    chat.wait_for_row("> half a word");
    chat.send("\x03");
    chat.wait_for("interrupted\n> half a word");
    chat.wait_for_processes(1);
    // If nothing is running, Ctrl-C empties the line.
    chat.empty_the_prompt();
    chat.send("go on\r");
    chat.wait_for("We go on.");
    chat.leave();
}

#[test]
fn what_was_to_follow_an_interrupted_turn_is_in_the_prompt_again() {
    let silent = ScriptedResponse::Stream(vec![StreamStep::UntilClientLeaves]);
    let server = Server::start(vec![silent, says("Both done.")]);
    let project = project().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "auto-edit"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 80, 40);
    chat.send("one\r");
    // A turn that is interrupted before the model is asked would leave the first answer for the next turn.
    server.wait_for_request();
    chat.send("two\rthree\rfour");
    chat.wait_for("next: two\nnext: three\n");
    chat.send("\x03");
    chat.wait_for("interrupted\n> one\n  two\n  three\n  four");
    assert_eq!(chat.count("> two"), 0, "{}", chat.contents());
    assert_eq!(chat.count("next: "), 0, "nothing waits any more: {}", chat.contents());
    chat.send("\r");
    chat.wait_for("Both done.");
    chat.leave();
}

#[test]
fn a_command_is_shown_as_it_runs_with_all_its_lines() {
    let long = format!("true {}", "x".repeat(600));
    let mut chat = project()
        .shell(0, "echo one # and a comment that is there to hide what comes after it, for long enough;\n  echo two")
        .shell(0, &long)
        .says(0, "All is well.")
        .chat_in("yolo", 100, 40);
    chat.send("begin\r");
    chat.wait_for("long enough;\n      echo two\n  one\n  two\n✓ shell true\n  xxx");
    chat.wait_for("… (+105 characters)");
    chat.wait_for("All is well.");
    chat.leave();
}

#[test]
fn up_takes_back_the_prompt_that_waits_last_and_goes_through_what_begins_with_what_is_typed() {
    let mut chat = project()
        .says(0, "First answer.")
        .says(1_500, "Second answer.")
        .says(0, "Third answer.")
        .says(0, "Fourth answer.")
        .chat("auto-edit");
    chat.send("fix the lexer\r");
    chat.wait_for("First answer.");
    chat.send("run the tests\r");
    chat.wait_for("working (Ctrl-C interrupts)");
    chat.send("two\rthree\r");
    chat.wait_for("next: two\nnext: three\n");
    chat.send("\x1b[A");
    chat.wait_for_row("> three");
    assert_eq!(chat.count("next: "), 1, "{}", chat.contents());
    chat.send(" and a half\r");
    chat.wait_for("next: two\nnext: three and a half\n");
    chat.wait_for("Second answer.\n\n> two\nThird answer.\n\n> three and a half\nFourth answer.");
    chat.send("fi\x1b[A");
    chat.wait_for_row("> fix the lexer");
    chat.send("\x1b[B");
    chat.wait_for_row("> fi");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn the_context_the_theme_and_a_suggestion_can_be_asked_for() {
    let mut chat =
        project().says(0, "First answer.").says(0, "Second answer.").suggests("add tests").chat("auto-edit");
    chat.send("/context\r");
    chat.wait_for("system text");
    chat.wait_for("tools (auto-edit mode)");
    chat.send("/suggest\r");
    chat.wait_for("nothing is asked now: ");
    chat.send("/theme\r");
    chat.wait_for("the themes are terminal, dark, light, blue-orange");
    chat.send("/theme light\r");
    chat.wait_for("the theme is light, for this chat");
    chat.send("/theme pink\r");
    chat.wait_for("\"pink\" is none of terminal, dark, light, blue-orange");
    chat.send("/editor\r");
    chat.wait_for("set VISUAL or EDITOR to the command of your");
    chat.send("one\r");
    chat.wait_for("First answer.");
    chat.send("two\r");
    chat.wait_for("Second answer.");
    chat.wait_for(GHOST);
    chat.send("/suggest\r");
    chat.wait_for("a suggestion is there already: Tab takes it");
    chat.leave();
}

#[test]
fn suggestions_can_be_turned_off_for_a_chat_and_on_again() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .suggests("run the linter")
        .says(0, "The linter is content.")
        .suggests("look again")
        .chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    chat.send("/suggest off\r");
    chat.wait_for("suggestions are off for this chat; `suggestions = false` in your");
    chat.wait_until_gone("[Tab]");
    chat.wait_until_gone("ahead");
    chat.send("/suggest\r");
    chat.wait_for("suggestions are off; /suggest on turns them on for this chat");
    chat.send("/suggest on\r");
    chat.wait_for("suggestions are on for this chat\n");
    chat.send("/suggest\r");
    chat.wait_for("asked for what could come next");
    chat.wait_for("> look again  [Tab]");
    chat.send("/suggest never\r");
    chat.wait_for("/suggest is not written so, but as /suggest [off|on]; /help lists all");
    chat.leave();
}
