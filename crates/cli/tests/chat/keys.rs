//! Holds what keys beyond letters do: those for the editor, the shell and other modes, and keys that the user
//! configures.

use std::os::unix::fs::PermissionsExt;

use crate::fixture::{Chat, GHOST, Project, project, project_with_suggestion};
use crate::pty::Pty;

fn with_editor(script: &str) -> Chat {
    let project = project().says(0, "It is.");
    project.session.write("home/editor", format!("#!/bin/sh\n{script}\n"));
    let editor = project.session.home().join("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).expect("it is there");
    let variable = format!("{} --wait", editor.display());
    project.variable("EDITOR", &variable).chat("plan")
}

fn configured(text: &str) -> Project {
    let project = project();
    project.session.write("home/.config/headstart/config.toml", text);
    project
}

#[test]
fn an_editor_of_the_users_has_the_prompt_and_the_terminal() {
    let mut chat = with_editor(
        r#"[ "$1" = --wait ] && [ "$(stat -c %a "$2")" = 600 ] && [ -t 0 ] || exit 7
           stty -a | grep -q " icanon" || exit 8
           printf 'in the editor: '; read answer; printf '%s\n' "$(cat "$2") $answer" > "$2""#,
    );
    chat.send("fix");
    chat.wait_for_row("> fix");
    chat.send("\x07");
    chat.wait_for("in the editor: ");
    chat.send("the parser\r");
    chat.wait_for_row("> fix the parser");
    chat.send("\r");
    chat.wait_for("> fix the parser\nIt is.");
    chat.leave();
}

#[test]
fn an_editor_that_fails_leaves_the_prompt_as_it_was() {
    let mut chat = with_editor("echo spoiled > \"$2\"; exit 3");
    chat.send("fix it\x07");
    chat.wait_for("the prompt stays as it was: ");
    chat.wait_for("exit status: 3");
    chat.wait_for_row("> fix it");
    chat.send("\x03");
    chat.leave();
    let mut chat = project().says(0, "Never.").chat("plan");
    chat.send("fix it\x07");
    chat.wait_for("set VISUAL or EDITOR to the command of your");
    chat.send("\x03");
    chat.leave();
}

#[test]
fn shift_tab_changes_the_mode_and_never_to_the_one_that_asks_nothing() {
    let mut chat = project().says(0, "Never.").chat("default");
    for mode in ["auto-edit", "plan", "default", "auto-edit"] {
        chat.send("\x1b[Z");
        chat.wait_for(&format!("\n{mode} · recording.json"));
    }
    chat.send("/mode yolo\r");
    chat.wait_for("\nyolo · recording.json");
    chat.send("\x1b[Z");
    chat.wait_for("\ndefault · recording.json");
    chat.leave();
}

/// Writes to the terminal of a chat, as another program would that was started in it.
#[cfg(target_os = "linux")]
fn write_from_elsewhere(chat: &Chat, text: &str) {
    let terminal = format!("/proc/{}/fd/1", chat.process_id());
    std::fs::write(std::fs::read_link(terminal).expect("it runs"), text).expect("it is a terminal");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_l_heals_what_another_program_wrote_and_shows_the_last_turn_again() {
    // A suggestion that is held back would have a row of its own.
    let mut chat = configured("suggestions = false\n")
        .says(0, "An earlier answer.")
        .calls(0, "read_file", serde_json::json!({ "file_path": "notes.txt" }))
        .says(0, "It has **one** line.")
        .chat_in("plan", 60, 24);
    chat.send("before\r");
    chat.wait_for("An earlier answer.");
    chat.send("look\r");
    chat.wait_for("It has one line.");
    chat.settle();
    chat.send("half a th");
    chat.wait_for_row("> half a th");
    write_from_elsewhere(&chat, "\r\nbroadcast\r\n\x1b[3Aover it\r\n");
    chat.wait_for("over it");
    let before = chat.written().len();
    chat.send("\x0c");
    chat.wait_until("the last turn alone, from the top", |screen| {
        let text = screen.contents();
        let last = "> look\n✓ read notes.txt\nIt has one line.\n> half a th\n";
        text.starts_with(last) && !text.contains("broadcast") && !text.contains("over it")
    });
    let written = chat.written()[before..].to_owned();
    assert!(!written.contains("\x1b[2J") && !written.contains("\x1b[3J"), "{written:?}");
    chat.empty_the_prompt();
    chat.leave();
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_l_heals_a_question_and_answers_none() {
    let mut chat = project().shell(0, "touch new.txt").says(0, "Touched.").chat_in("default", 60, 24);
    chat.send("touch it\r");
    chat.wait_for("run this?");
    write_from_elsewhere(&chat, "\x1b[2Abroadcast");
    chat.wait_for("broadcast");
    chat.send("\x0c");
    chat.wait_until("the question alone, from the top", |screen| {
        let text = screen.contents();
        text.starts_with("> touch it\n") && text.contains("run this?") && !text.contains("broadcast")
    });
    assert_eq!(chat.read("new.txt"), None);
    chat.answer("y");
    chat.wait_for("Touched.");
    assert!(chat.read("new.txt").is_some());
    chat.leave();
}

#[test]
fn esc_interrupts_and_what_is_typed_and_queued_stays() {
    let mut chat = project().shell(0, "sleep 60").says(0, "Never.").chat("yolo");
    chat.send("begin\r");
    chat.wait_for("● shell sleep 60");
    chat.send("next one\r");
    chat.wait_for("next: next one");
    chat.send("half a th");
    chat.wait_for_row("> half a th");
    chat.send("\x1b");
    chat.wait_for("interrupted");
    // The prompt has its answer, a call that was cut off, so it is not in the line again.
    chat.wait_for("> next one\n  half a th");
    chat.wait_for_processes(1);
    chat.send("\x03");
    chat.leave();
}

#[test]
fn keys_do_what_their_user_says() {
    let mut chat =
        configured("[keys]\nsend = [\"f5\"]\nnewline = [\"enter\"]\n").says(0, "It is.").chat("plan");
    chat.send("one\rtwo");
    chat.wait_for("> one\n  two");
    chat.send("\x1b[15~");
    chat.wait_for("It is.");
    chat.leave();
}

#[test]
fn a_terminal_that_can_is_asked_to_tell_shift_enter_apart_and_asked_no_more_at_the_end() {
    let project = project().says(0, "It is.").variable("TERM_PROGRAM", "ghostty");
    let mut chat = project.chat("plan");
    assert_eq!(chat.written().matches("\x1b[>1u").count(), 1);
    chat.send("one\x1b[13;2utwo\\\rthree");
    chat.wait_for("> one\n  two\n  three");
    // This is Ctrl-M, which in this protocol does not arrive as the byte of Enter.
    chat.send("\x1b[109;5u");
    chat.wait_for("It is.");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let written = chat.written();
    assert_eq!((written.matches("\x1b[>1u").count(), written.matches("\x1b[<1u").count()), (1, 1));
    let mut other = crate::fixture::project().says(0, "It is.").chat("plan");
    other.send("begin\r");
    other.wait_for("It is.");
    assert!(!other.written().contains("\x1b[>1u"), "a terminal that is not known is asked nothing");
    other.leave();
}

#[test]
fn enter_in_an_empty_prompt_takes_the_suggestion_of_whoever_binds_it_so_and_of_nobody_else() {
    for (settings, takes) in [("[keys]\ntake_empty = [\"enter\"]\n", true), ("", false)] {
        let project =
            project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Tests are written.");
        project.session.write("home/.config/headstart/config.toml", settings);
        let mut chat = project.says(0, "It is.").chat_with_ghost("auto-edit");
        chat.wait_for("✓ ready");
        // Immediately after the suggestion appears, a key may have been meant for something else, so the test waits.
        chat.settle();
        chat.settle();
        chat.send("\r");
        if takes {
            chat.wait_for("> add tests\n");
            chat.wait_for("Tests are written.");
        } else {
            chat.settle();
            chat.wait_for_row(GHOST);
        }
        assert_eq!(chat.read("tests.txt").is_some(), takes);
        chat.leave();
    }
}

/// Ctrl-Z stops a program only where a shell can continue it, so the chat runs in one.
#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_the_frame_and_the_keys_back() {
    let project = project().says(0, "It is.").variable("TERM_PROGRAM", "ghostty");
    let arguments = project.arguments("plan");
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let chat = project.session.command(&arguments);
    let quoted = |part: &std::ffi::OsStr| format!("'{}'", part.to_string_lossy());
    let line: Vec<_> = std::iter::once(chat.get_program()).chain(chat.get_args()).map(quoted).collect();
    let mut shell = std::process::Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(project.session.workspace());
    shell.envs(chat.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PS1", "shell: ");
    let mut pty = Pty::of(&shell, 72, 40);
    pty.wait_for("shell: ");
    pty.send(&format!("clear; {}\r", line.join(" ")));
    pty.wait_for("? keys");
    pty.send("half a th");
    pty.wait_for("\n> half a th");
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.wait_until("no bracketed paste of the chat's", |screen| !screen.contents().contains("> half a th"));
    pty.send("stty -a | grep -c ' icanon'\r");
    pty.wait_for("\n1\n");
    pty.send("fg\r");
    pty.wait_for("\n> half a th");
    pty.send("ing\x1b[13;2umore");
    pty.wait_for("\n> half a thing\n  more");
    pty.send("\r");
    pty.wait_for("It is.");
    pty.send("\x04");
    pty.wait_until("the shell again", |screen| screen.contents().trim_end().ends_with("shell:"));
    let written = pty.written();
    assert_eq!((written.matches("\x1b[>1u").count(), written.matches("\x1b[<1u").count()), (2, 2));
    pty.send("exit\r");
    pty.exit_code();
}

#[test]
fn a_paste_of_10_mb_stands_as_one_sign_and_is_sent_whole() {
    let line = "a line of a log that somebody pastes, with no end of it in sight\n";
    let lines = 10_000_000 / line.len();
    let mut chat = project().says(0, "It is long.").chat("plan");
    chat.send(&format!("look: \x1b[200~{}\x1b[201~", line.repeat(lines)));
    chat.wait_for(&format!("> look: [paste 1, {lines} lines]"));
    chat.send("!");
    chat.wait_for(&format!("> look: [paste 1, {lines} lines]!"));
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn the_modes_of_vi_are_told_and_leave_esc_to_interrupt() {
    let mut chat = configured("editing = 'vi'\n").says(60_000, "never").chat("plan");
    chat.wait_for("INSERT · plan · ");
    chat.send("one two\x1b");
    chat.wait_for("NORMAL · plan · ");
    chat.send("cwsix");
    chat.wait_for_row("> one twsix");
    chat.wait_for("INSERT · plan · ");
    chat.send("\x1b");
    chat.wait_for("NORMAL · plan · ");
    chat.send("bdd");
    chat.wait_for_row(">");
    chat.send("ibegin\r");
    chat.wait_for("working (Ctrl-C interrupts)");
    chat.send("\x1b");
    chat.wait_for("NORMAL · plan · ");
    chat.wait_for("working (Ctrl-C interrupts)");
    chat.send("\x1b");
    chat.wait_for("interrupted");
    chat.wait_for_row("> begin");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn a_key_for_two_things_is_an_error_that_names_both_and_its_line() {
    let refused = |text: &str, words: &[&str]| {
        let project = configured(text);
        let outcome = project.session.run(&["keys"]);
        outcome.assert_refused(1, words);
    };
    refused("[keys]\nyank = [\"f2\"]\nundo = [\"ctrl-k\"]\n", &["config.toml:3", "keys.undo", "kill_to_end"]);
    refused(
        "[keys]\nfly = [\"f2\"]\n",
        &["config.toml:2", "keys.fly", "there is no such action; there are send"],
    );
    refused("[keys]\nyank = [\"hyper-x\"]\n", &["config.toml:2", "is no key; keys are written as ctrl-j"]);
    let project = configured("[keys]\nsuspend = []\nyank = [\"f2\"]\n");
    let outcome = project.session.run(&["keys"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for row in ["send                 enter ", "suspend              – ", "yank                 f2 "] {
        assert!(outcome.stdout.contains(row), "{row}: {outcome}");
    }
    assert_eq!(project.session.run(&["keys", "--json"]).json()[0]["action"], "send");
}
