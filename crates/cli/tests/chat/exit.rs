use portable_pty::CommandBuilder;

use crate::fixture::{Chat, project, project_with_suggestion};
use crate::pty::{Pty, kill};
use crate::support::PATIENCE;

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
        chat.kill(signal);
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

/// The id of the process with this command line that runs in the project, as soon as there is one.
#[cfg(target_os = "linux")]
fn id_of(chat: &Chat, command: &str) -> String {
    let folder = chat.project.session.workspace().canonicalize().expect("the project is there");
    let is_it = |process: &std::fs::DirEntry| {
        let line = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        line.replace('\0', " ").trim() == command
            && std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    };
    let started = std::time::Instant::now();
    loop {
        let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
        if let Some(found) = processes.into_iter().find(is_it) {
            return found.file_name().to_string_lossy().into_owned();
        }
        assert!(started.elapsed() < PATIENCE, "{command} does not run");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_is_killed_leaves_the_terminal_to_the_chat_and_the_chat_gives_it_back() {
    let untouched = initial_terminal_mode();
    let mut chat = project().shell(0, "exec sleep 9").says(0, "It was killed.").chat("yolo");
    let in_chat = chat.mode();
    chat.send("begin\r");
    kill("KILL", &id_of(&chat, "sleep 9"));
    chat.wait_for("It was killed.");
    assert_eq!(chat.mode(), in_chat);
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    assert_eq!(chat.mode(), untouched);
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

/// Somebody who types words where a letter answers, and letters where nothing is asked, sends none of them to the model.
#[test]
fn a_word_at_a_question_and_a_letter_without_one_are_no_prompts() {
    let mut chat = project()
        .shell(0, "touch one.txt")
        .says(0, "It is there.")
        .shell(0, "touch two.txt")
        .says(0, "It is not there. Shall I go on?")
        .says(0, "So be it.")
        .chat("default");
    chat.send("touch it\r");
    chat.answer("yes\r");
    chat.wait_for("It is there.");
    for letter in ["n", "d", "y"] {
        chat.send(&format!("{letter}\r"));
        chat.wait_for(&format!("{letter} answers nothing now, so it was not sent"));
    }
    chat.send("touch another\r");
    chat.wait_for("command: touch two.txt");
    chat.answer("no\r");
    chat.wait_for("Shall I go on?");
    // Now the model has asked.
    chat.send("n\r");
    chat.wait_for("> n\nSo be it.");
    assert_eq!((chat.count("> es"), chat.count("> o\n")), (0, 0), "{}", chat.contents());
    assert!(chat.read("one.txt").is_some() && chat.read("two.txt").is_none());
    chat.send("exit\r");
    assert_eq!(chat.exit_code(), 0);
    chat.assert_nothing_is_left();
}
