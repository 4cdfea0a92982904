//! Holds what the screen shows in terminals of other sizes and without colors.

use serde_json::json;

use crate::fixture::{project, project_with_suggestion};
use crate::support::PATIENCE;

#[test]
fn a_narrow_terminal_holds_it_all() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written and so is all that belongs to them.")
        .suggests("run the linter over all of it")
        .says(60_000, "never")
        .chat_in("auto-edit", 24, 24);
    chat.send("begin\r");
    chat.wait_for("ahead ✓ ready · 1 file …\n> add tests  [Tab]");
    chat.insert();
    chat.send(" and more of them, please");
    chat.wait_for_row("> add tests and more of");
    chat.wait_for_row("  them, please");
    chat.send("\x15");
    chat.wait_for_row("> add tests  [Tab]");
    assert_eq!(chat.count("please"), 0, "{}", chat.contents());
    chat.leave();
}

#[test]
fn in_a_terminal_of_any_size_the_prompt_is_in_sight() {
    for (columns, rows) in [(120, 30), (80, 24), (40, 16), (20, 8), (80, 5), (80, 1)] {
        let project = project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Written.");
        let mut chat = project.chat_in("auto-edit", columns, rows);
        chat.send("begin\r");
        let at_cursor = |screen: &vt100::Screen| {
            let (row, _) = screen.cursor_position();
            screen.rows(0, screen.size().1.get()).nth(usize::from(row))
        };
        chat.wait_until(&format!("the prompt at {columns}x{rows}"), |screen| {
            at_cursor(screen).is_some_and(|row| row.starts_with("> add tests"))
        });
        chat.settle();
        chat.send("\x1b[C more");
        chat.wait_until(&format!("what is typed at {columns}x{rows}"), |screen| {
            at_cursor(screen).is_some_and(|row| row.trim_end().ends_with("tests more"))
        });
        chat.empty_the_prompt();
        chat.leave();
    }
}

#[test]
fn in_a_terminal_of_any_size_each_finished_line_is_in_the_scrollback_once() {
    let answer = (0..40).map(|line| format!("l{line:02}x\n\n")).collect::<Vec<_>>().concat();
    for (columns, rows) in [(120, 30), (80, 24), (40, 16), (20, 8), (80, 5), (8, 8), (80, 1)] {
        let project = project().says(0, &format!("{answer}done.")).says(0, "never");
        let mut chat = project.chat_in("plan", columns, rows);
        chat.send("begin\r");
        chat.wait_until(&format!("the prompt at {columns}x{rows}"), |screen| {
            let (row, column) = screen.cursor_position();
            let shown = screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default();
            shown.trim_end() == ">" && column == 2
        });
        let started = std::time::Instant::now();
        while !chat.rows().iter().any(|row| row.trim_end() == "done.") {
            assert!(started.elapsed() < PATIENCE, "{columns}x{rows}: {:?}", chat.rows());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let all = chat.rows();
        for line in 0..40 {
            let line = format!("l{line:02}x");
            let count = all.iter().filter(|row| row.trim_end() == line).count();
            assert_eq!(count, 1, "{line} at {columns}x{rows}: {all:#?}");
        }
        chat.leave();
    }
}

#[test]
fn a_resize_breaks_nothing() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    // The frame must be complete before the size changes: a frame that is drawn for one size and arrives when the
    // terminal has another stays as it is, because no program can know of it.
    chat.wait_for("ready");
    chat.settle();
    // The widths are at least that of what is redrawn, because the terminal of this test does not wrap rows anew, as
    // others do.
    for columns in [50, 100, 56, 72] {
        chat.resize(columns, 30);
        // A key that changes nothing in the line. A terminal redraws by itself when it is told its size.
        chat.send("\x01");
        chat.settle();
        assert_eq!(chat.count("[Tab]"), 1, "{columns} columns:\n{}", chat.contents());
        assert_eq!(chat.count("First answer."), 1, "{columns} columns:\n{}", chat.contents());
    }
    chat.take();
    chat.wait_for("Tests are written.");
    chat.leave();
}

#[test]
fn ghost_text_is_dim_and_what_is_typed_is_not() {
    let mut chat = project_with_suggestion().says(60_000, "never").chat_with_ghost("auto-edit");
    let dim = |screen: &vt100::Screen, column| {
        let (row, _) = screen.cursor_position();
        screen.cell(row, column).is_some_and(vt100::Cell::dim)
    };
    chat.wait_until("dim ghost text", |screen| dim(screen, 2) && !dim(screen, 0));
    chat.insert();
    chat.wait_for_row("> add tests");
    chat.wait_until("typed text", |screen| !dim(screen, 2));
    chat.send("\x15");
    chat.leave();
}

#[test]
fn code_of_an_answer_and_lines_of_a_diff_that_did_not_change_have_colours() {
    let mut chat = project();
    chat.session.write("project/lib.rs", "fn add() {}\n// sum\n");
    let edit = json!({ "file_path": "lib.rs", "old_string": "// sum", "new_string": "// the sum" });
    chat = chat.calls(0, "read_file", json!({ "file_path": "lib.rs" })).calls(0, "edit", edit);
    let mut chat = chat.says(0, "So:\n\n```rust\nfn main() {}\n```\n").chat("auto-edit");
    chat.send("begin\r");
    let magenta = Some(vt100::Color::Idx(5));
    chat.wait_until("a keyword in code", |screen| color_of(screen, "fn main() {}", 0) == magenta);
    chat.wait_until("a keyword in a diff", |screen| color_of(screen, "1   fn add() {}", 8) == magenta);
    chat.leave();
}

#[test]
fn the_answer_of_the_terminal_chooses_the_theme_and_is_not_typed() {
    let project = project().says(0, "It is `code`.");
    project.session.write("home/.config/headstart/config.toml", "theme = 'auto'\n");
    let mut chat = project.chat("plan");
    chat.send("be");
    chat.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    chat.send("gin");
    chat.wait_for_row("> begin");
    chat.send("\r");
    let accent = Some(vt100::Color::Idx(24));
    chat.wait_until("the colour for a light background", |screen| {
        color_of(screen, "It is code.", 6) == accent
    });
    // A sequence that only begins like such an answer is a key.
    chat.send("\x1b]x");
    chat.wait_for_row("> x");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn what_a_terminal_answers_to_somebody_else_is_not_typed() {
    let mut chat = project().says(0, "It is `code`.").chat("plan");
    for answer in ["\x1b[?62;22c", "\x1b[12;40R", "\x1b]11;rgb:ffff/ffff/ffff\x07"] {
        chat.send("be");
        chat.send(answer);
        chat.send("gin");
        chat.wait_for_row("> begin");
        chat.settle();
        chat.wait_for_row("> begin");
        chat.empty_the_prompt();
    }
    chat.send("begin\r");
    let accent = Some(vt100::Color::Idx(6));
    chat.wait_until("the colour of the theme", |screen| color_of(screen, "It is code.", 6) == accent);
    chat.leave();
}

/// The colour in a column of the first row that contains a text.
fn color_of(screen: &vt100::Screen, text: &str, column: u16) -> Option<vt100::Color> {
    let rows = screen.rows(0, screen.size().1.get());
    let (row, _) = rows.enumerate().find(|(_, row)| row.contains(text))?;
    screen.cell(u16::try_from(row).ok()?, column).map(vt100::Cell::fgcolor)
}

#[test]
fn a_diff_is_told_as_its_reader_wants_it() {
    for (form, expected, not_told) in [
        ("words", "    1 ~ the [-first-]{+only+} line\n", "1 + the"),
        ("names", "✓ edit lib.txt  +1 -1\n", "line"),
    ] {
        let project = project();
        project.session.write("project/lib.txt", "the first line\n");
        let settings = format!("diff = '{form}'\n");
        project.session.write("home/.config/headstart/config.toml", settings);
        let edit = json!({ "file_path": "lib.txt", "old_string": "first", "new_string": "only" });
        let look = json!({ "file_path": "lib.txt" });
        let project = project.calls(0, "read_file", look).calls(0, "edit", edit).says(0, "It is edited.");
        let mut chat = project.chat("auto-edit");
        chat.send("begin\r");
        chat.wait_for("It is edited.");
        chat.wait_for(expected);
        assert_eq!(chat.count(not_told), 0, "{form}: {}", chat.contents());
        chat.leave();
    }
}

#[test]
fn without_colors_ghost_text_is_in_brackets() {
    let mut chat =
        project_with_suggestion().says(60_000, "never").variable("NO_COLOR", "1").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for_row("> [add tests]  [Tab]");
    chat.wait_until("no attribute anywhere", |screen| {
        let (rows, columns) = screen.size();
        (0..rows.get()).all(|row| {
            (0..columns.get()).all(|column| {
                screen
                    .cell(row, column)
                    .is_none_or(|cell| !cell.bold() && !cell.dim() && cell.fgcolor() == vt100::Color::Default)
            })
        })
    });
    chat.insert();
    chat.wait_for_row("> add tests");
    chat.send("\x15");
    chat.leave();
}

#[test]
fn no_escape_sequence_of_a_model_or_a_file_reaches_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[35m";
    let shown = "\\u{1b}]0;owned\\u{7}\\u{1b}[2J";
    let mut chat = project_with_suggestion()
        .writes(0, &format!("{evil}.txt"), &format!("{evil}\n"))
        .says(0, &format!("Written {evil}"))
        .says(0, "never")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -0");
    chat.send("/diff\r");
    chat.wait_for("1 + \\u{1b}]0;owned\\u{7}");
    chat.take();
    chat.wait_for("of this was done ahead");
    chat.wait_for(&format!("✓ write {shown}"));
    chat.wait_for(&format!("Written {shown}"));
    chat.wait_until("nothing was cleared, nothing is colored by it", |screen| {
        let first_is_there = screen.contents().contains("> begin");
        let (rows, columns) = screen.size();
        let is_magenta =
            |row, column| screen.cell(row, column).is_some_and(|cell| cell.fgcolor() == vt100::Color::Idx(5));
        let any_magenta = (0..rows.get()).any(|row| (0..columns.get()).any(|column| is_magenta(row, column)));
        first_is_there && !any_magenta
    });
    chat.leave();
}

/// A command has no terminal, so what it prints is shown by the chat, and it can ask nothing.
#[cfg(target_os = "linux")]
#[test]
fn no_command_reaches_the_terminal_itself() {
    let attack = "printf '\\033]0;owned\\007\\033[2Jscribble' >/dev/tty && touch wrote; \
                  stty sane </dev/tty && touch changed; read line </dev/tty && touch read; touch ended";
    let mut chat = project().shell(0, attack).says(0, "It ended.").chat("yolo");
    let mode = chat.mode();
    chat.send("begin\r");
    chat.wait_for("It ended.");
    let written = chat.written();
    assert!(!written.contains("\x1b]0;owned") && !written.contains("\x1b[2J"), "{written:?}");
    assert_eq!(chat.mode(), mode);
    let done = ["wrote", "changed", "read", "ended"].map(|name| chat.read(name).is_some());
    assert_eq!(done, [false, false, false, true], "{}", chat.contents());
    chat.leave();
}

/// The same for work ahead, where a program of the project runs in a view.
#[cfg(target_os = "linux")]
#[test]
fn no_command_of_work_ahead_reaches_the_terminal_itself() {
    let project = project_with_suggestion().variable("HEADSTART_SHADOW", "");
    let attack = "printf '\\033]0;owned\\007' >/dev/tty; stty sane </dev/tty; echo ran > ran.txt\n";
    project.session.write("project/attack.sh", attack);
    let chat = project.shell(0, "bash attack.sh").says(0, "It ran.").chat_with_ghost("auto-edit");
    let mode = chat.mode();
    chat.wait_for("ahead ✓ ready · 1 file +1 -0");
    assert!(!chat.written().contains("\x1b]0;owned"), "{:?}", chat.written());
    assert_eq!(chat.mode(), mode);
    chat.leave();
}
