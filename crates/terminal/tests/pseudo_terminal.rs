//! Holds how the line editor behaves in a pseudo-terminal and behind a pipe, through the program of
//! `examples/line_editor.rs`.

#[path = "../../cli/tests/support/pty.rs"]
mod pty;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use portable_pty::CommandBuilder;
use pty::Pty;

/// The path of the example program. Cargo builds a package's examples before it runs its tests, and puts them into a
/// folder next to that of the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.ancestors().nth(2).expect("the test is in a folder of the profile's folder");
    let program = profile.join("examples").join(format!("line_editor{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "not built; run: cargo build -p headstart-terminal --example line_editor");
    program
}

fn editor(columns: u16, rows: u16) -> Pty {
    let mut command = CommandBuilder::new(program());
    // What is drawn depends on variables, so it gets none of the machine's. Windows starts no program without some.
    if cfg!(unix) {
        command.env_clear();
    }
    command.env_remove("NO_COLOR");
    // The message of a panic should fit on the screen.
    command.env("RUST_BACKTRACE", "0");
    let pty = Pty::spawn(command, columns, rows);
    pty.wait_for("> run the tests  [Tab]");
    pty
}

/// Waits until some row of the screen is exactly `row`.
fn has_row(pty: &Pty, row: &'static str) {
    pty.wait_until(row, |screen| screen.rows(0, screen.size().1.get()).any(|found| found.trim_end() == row));
}

#[test]
fn tab_takes_the_ghost_over_and_enter_submits_it() {
    let mut pty = editor(60, 12);
    // Ghost text is dim, but the prompt before it is not.
    pty.wait_until("dim ghost text", |screen| {
        let (row, column) = screen.cursor_position();
        let dim = |column| screen.cell(row, column).is_some_and(vt100::Cell::dim);
        column == 2 && !dim(0) && dim(2)
    });
    pty.send("\t");
    pty.wait_for("accepted with Tab");
    has_row(&pty, "> run the tests");
    pty.send("!\t");
    pty.wait_for("you said: run the tests!");
    pty.send("\x1b[A");
    pty.wait_for("from the history");
    pty.send("\x15");
    pty.send("next\r");
    pty.wait_for("> fix the failing test  [Tab]");
    pty.send("\x1b[C");
    pty.wait_for("accepted with Right");
    assert!(!pty.contents().contains("you said: fix"));
}

#[test]
fn enter_accepts_nothing_and_typing_dismisses() {
    let mut pty = editor(60, 12);
    pty.send("\r");
    pty.send("x");
    has_row(&pty, "> x");
    pty.send("\x7f\t\r");
    pty.send("y\r");
    pty.wait_for("you said: y");
    let screen = pty.contents();
    assert!(!screen.contains("accepted") && !screen.contains("you said: run"), "{screen}");
}

#[test]
fn a_paste_of_several_lines_is_not_submitted() {
    let mut pty = editor(60, 12);
    pty.wait_until("bracketed paste", vt100::Screen::bracketed_paste);
    pty.send("\x1b[200~first\nsecond\n\x1b[201~third");
    has_row(&pty, "> first");
    has_row(&pty, "  third");
    assert!(!pty.contents().contains("you said"));
    pty.send("\r");
    pty.wait_for("you said: first\nsecond\nthird");
}

#[test]
fn an_answer_streams_in_while_the_user_types() {
    let mut pty = editor(40, 12);
    pty.send("stream\r");
    pty.wait_for("answering:");
    for key in ["h", "e", "l", "l", "o"] {
        pty.send(key);
        std::thread::sleep(Duration::from_millis(40));
    }
    pty.wait_for("stays\nwhere it is and takes what you type.\nIt has a second line.");
    pty.wait_until("the prompt alone", |screen| screen.contents().ends_with("second line.\n> hello"));
}

#[test]
fn a_question_waits_for_its_key() {
    let mut pty = editor(60, 12);
    pty.send("ask\r");
    pty.wait_for("run this?");
    // A question ignores keys at first; the test waits longer than that.
    std::thread::sleep(Duration::from_millis(500));
    pty.send("\rx\t");
    // The question also ignores a letter that comes immediately after another key, because that is typing and no
    // answer.
    pty.send("y");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!pty.contents().contains("you said"), "{}", pty.contents());
    pty.send("y");
    pty.wait_for("you said yes");
    pty.send("\x1b");
    has_row(&pty, ">");
    pty.send("ask\r");
    pty.wait_for("run this?");
    pty.send("\x03");
    pty.wait_for("you said no");
    pty.send("write\r");
    pty.wait_for("write this? [y]es / [d]iff / [n]o");
    std::thread::sleep(Duration::from_millis(500));
    pty.send("d");
    pty.wait_for("1 + all of it");
    pty.wait_for("write this? [y]es / [d]iff / [n]o");
}

#[test]
fn a_narrower_terminal_breaks_the_line() {
    let mut pty = editor(60, 12);
    pty.resize(20, 12);
    pty.send("aaaaaaaaaabbbbbbbbbbcc");
    has_row(&pty, "> aaaaaaaaaabbbbbbbb");
    has_row(&pty, "  bbcc");
}

#[test]
fn a_key_is_not_lost_when_the_window_changes_at_the_same_time() {
    let mut pty = editor(60, 12);
    for turn in 0..100 {
        pty.resize(if turn % 2 == 0 { 40 } else { 60 }, 12);
        pty.send("k");
        // The next key would draw a lost one as well and so hide the loss, so the test waits for each key separately.
        let line = format!("> {}", "k".repeat(turn % 30 + 1));
        pty.wait_until(&line, |screen| screen.rows(0, 60).any(|row| row.trim_end() == line));
        if turn % 30 == 29 {
            pty.send("\x15");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_terminal_is_given_back() {
    for (keys, code, last_words) in [("\x04", 0, ""), ("panic\r", 101, "as you wish")] {
        // The mode of a terminal whose program does not change it.
        let mut untouched = CommandBuilder::new("cat");
        untouched.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mode = Pty::spawn(untouched, 60, 12).mode();

        let mut pty = editor(60, 12);
        assert_ne!(pty.mode(), mode, "the editor is in raw mode");
        pty.send(keys);
        assert_eq!(pty.exit_code(), code);
        pty.wait_for(last_words);
        pty.wait_until("no bracketed paste", |screen| !screen.bracketed_paste());
        assert_eq!(pty.mode(), mode, "after {keys:?}");
        if code == 101 {
            pty.wait_until("the message at the start of a row", |screen| {
                screen.rows(0, 60).any(|row| row.starts_with("thread 'main'"))
            });
        }
    }
}

#[test]
fn a_pipe_gives_plain_lines() {
    let mut child = Command::new(program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().unwrap().write_all("one \u{1b}[2J\r\n\u{6f22}\nyes".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "you said: one \\u{1b}[2J\nyou said: 漢\nyou said: yes\n");
    assert!(output.status.success());
}
