//! Holds what happens with work that stopped at a call which needs the user's consent.

use serde_json::json;

use crate::fixture::{Chat, project, project_with_suggestion};
use crate::support::server::{Server, calls, says};

/// Work ahead staged a file and stopped at a command. The user took it, and is asked about the command.
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
    // The finished work is applied. The command did not run, and no result of it is shown.
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.count("✓ shell"), 0);
    assert_eq!(chat.count("asked once more"), 0);
    chat
}

#[test]
fn yes_runs_the_call_and_goes_on() {
    let mut chat = asked_for_the_command();
    chat.answer("y");
    chat.wait_for("The model was asked once more.");
    assert_eq!(chat.read("made.txt").as_deref(), Some(""));
    assert_eq!(chat.count("✓ shell"), 1);
    chat.leave();
}

/// A question about several commands says why each of them needs an answer, each reason once.
#[test]
fn a_question_about_several_commands_has_every_reason() {
    for (command, why) in [
        (
            "touch a && curl example.org; rm b && touch c",
            "\n  touch writes, moves or removes files\n  curl opens a connection\n  rm writes, moves or removes files\nrun this?",
        ),
        (
            "curl a.example && git push origin main && touch a && make && ls /etc",
            "\n  touch writes, moves or removes files\n  curl opens a connection\n  git push opens a connection\n  and 2 more\nrun this?",
        ),
        ("touch a && echo done", "\n  touch writes, moves or removes files\nrun this?"),
    ] {
        for columns in [80, 120] {
            let mut chat =
                project().shell(0, command).says(0, "It is not run.").chat_in("default", columns, 40);
            chat.send("begin\r");
            chat.wait_for(&format!("  command: {command}{why}"));
            chat.answer("n");
            chat.wait_for("It is not run.");
            chat.leave();
        }
    }
}

#[test]
fn no_tells_the_model() {
    let mut chat = asked_for_the_command();
    chat.answer("n");
    chat.wait_for("  no\n– shell touch made.txt && echo done\nThe model was asked once more.");
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

/// With `after_decline = "stop"` the model is not asked again after a no, and reads of the no with the next prompt.
#[test]
fn no_ends_the_turn_where_its_user_wants_that() {
    let call = || calls(&[("shell", json!({ "command": "touch made.txt" }))]);
    let server = Server::start(vec![call(), call(), says("I will not."), says("It is well.")]);
    let project = project().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
    project.session.write("home/.config/headstart/config.toml", "after_decline = 'stop'\n");
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "default"];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 80, 40);
    chat.send("begin\r");
    chat.answer("n");
    chat.wait_for("  no\ninterrupted\n>");
    assert_eq!(server.requests().len(), 1);
    // The reason for a no always goes to the model.
    chat.send("once more\r");
    chat.wait_for("once more\n");
    chat.answer("w");
    chat.send("not now\r");
    chat.wait_for("I will not.");
    chat.send("well\r");
    chat.wait_for("It is well.");
    let messages = server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(messages.contains("the user declined this call\""), "{messages}");
    assert!(messages.contains("the user declined this call, and says: not now"), "{messages}");
    assert_eq!(chat.read("made.txt"), None);
    chat.leave();
}

#[test]
fn enter_and_early_keys_answer_nothing_and_ctrl_c_interrupts() {
    let mut chat = asked_for_the_command();
    // These keys were typed before the question could be read.
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
