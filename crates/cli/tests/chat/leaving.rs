use portable_pty::CommandBuilder;

use crate::fixture::{project, project_with_suggestion};
use crate::pty::Pty;

#[test]
fn leaving_while_a_command_runs_ahead_ends_it() {
    let mut chat = project_with_suggestion().shell(0, "sleep 9").chat_with_ghost("auto-edit");
    chat.wait_for_command("sleep 9");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    chat.assert_nothing_is_left();
}

#[test]
fn leaving_while_a_command_runs_in_the_foreground_ends_it() {
    let mut chat = project().shell(0, "sleep 9").chat("yolo");
    chat.send("begin\r");
    chat.wait_for_command("sleep 9");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    chat.assert_nothing_is_left();
}

/// The mode of a terminal whose program does not change it.
fn initial_terminal_mode() -> String {
    let mut cat = CommandBuilder::new("cat");
    cat.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Pty::spawn(cat, 72, 40).mode()
}

#[test]
fn the_terminal_is_given_back() {
    let untouched = initial_terminal_mode();
    for keys in ["\x04", "/quit\r", "/exit\r"] {
        let mut chat = project().says(0, "never").chat("auto-edit");
        assert_ne!(chat.mode(), untouched, "the chat is in raw mode");
        chat.send(keys);
        assert_eq!(chat.exit_code(), 0, "{keys:?}");
        chat.wait_until("no bracketed paste", |screen| !screen.bracketed_paste());
        assert_eq!(chat.mode(), untouched, "{keys:?}");
    }
}

#[test]
fn a_signal_gives_the_terminal_back_too_and_leaves_nothing() {
    let untouched = initial_terminal_mode();
    for signal in ["TERM", "HUP", "INT"] {
        let mut chat = project_with_suggestion()
            .writes(0, "tests.txt", "tests\n")
            .shell(0, "sleep 9")
            .chat_with_ghost("auto-edit");
        let before = chat.project.session.tree();
        chat.wait_for("1 file +1 -0");
        let id = chat.process_id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill is there").success());
        // The terminal's library decides which exit code an end by a signal has, so the test only expects that it is
        // not 0.
        assert_ne!(chat.exit_code(), 0, "{signal}");
        chat.wait_for(&format!("headstart: ended by SIG{signal}"));
        chat.wait_until("no bracketed paste", |screen| !screen.bracketed_paste());
        assert_eq!(chat.mode(), untouched, "{signal}");
        chat.assert_nothing_is_left();
        assert_eq!(chat.project.session.tree(), before);
    }
}

#[test]
fn ctrl_c_at_the_prompt_leaves_when_it_is_pressed_twice_and_nothing_between() {
    let mut chat = project().says(0, "Still here.").chat("auto-edit");
    chat.send("\x03");
    chat.wait_for("Ctrl-C again, Ctrl-D or /quit leaves.");
    // The second Ctrl-C empties the prompt, so the third is the first of two again.
    chat.send("half a word\x03");
    chat.wait_for_row(">");
    chat.send("\x03hello\r");
    chat.wait_for("Still here.");
    chat.send("\x03\x03");
    assert_eq!(chat.exit_code(), 0);
}
