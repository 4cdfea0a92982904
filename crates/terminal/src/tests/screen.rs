use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::play;
use crate::row::Row;
use crate::{Ghost, LineEditor, Markdown, Palette, Screen, Size, Style, View, render};

const COLUMNS: u16 = 20;
const SIZE: Size = Size { columns: COLUMNS, rows: 8 };

/// A terminal in memory, with every byte that was sent to it.
#[derive(Clone)]
pub(super) struct Wire(Rc<RefCell<(vt100::Parser, Vec<u8>)>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut wire = self.0.borrow_mut();
        wire.0.process(bytes);
        wire.1.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire {
    pub(super) fn new(size: Size) -> Self {
        let (rows, columns) = (size.rows.try_into().unwrap(), size.columns.try_into().unwrap());
        Self(Rc::new(RefCell::new((vt100::Parser::new(rows, columns, 1_000), Vec::new()))))
    }

    /// What `look` sees on the screen.
    pub(super) fn see<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.0.borrow().0.screen())
    }

    /// The rows that scrolled out at the top, each once.
    fn scrolled_out(&self) -> Vec<String> {
        let mut wire = self.0.borrow_mut();
        let screen = wire.0.screen_mut();
        let rows = (1..=screen.scrollback_len()).rev().map(|offset| {
            screen.set_scrollback(offset);
            screen.rows(0, COLUMNS).next().unwrap_or_default()
        });
        let rows = rows.collect();
        screen.set_scrollback(0);
        rows
    }

    /// The rows that are not empty, with `‸` at the cursor.
    fn picture(&self) -> String {
        let wire = self.0.borrow();
        let screen = wire.0.screen();
        let (cursor_row, cursor_column) = screen.cursor_position();
        let mut rows: Vec<String> = screen.rows(0, COLUMNS).collect();
        let before: String = screen.rows(0, cursor_column).nth(usize::from(cursor_row)).unwrap_or_default();
        let row = &mut rows[usize::from(cursor_row)];
        let before = format!("{before:<width$}", width = usize::from(cursor_column));
        let behind = row.strip_prefix(before.as_str()).unwrap_or_default();
        *row = format!("{before}‸{behind}");
        let last = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
        rows.truncate(last + 1);
        rows.join("\n") + "\n"
    }
}

struct Terminal {
    wire: Wire,
    screen: Screen<Wire>,
    editor: LineEditor,
    now: Instant,
}

impl Terminal {
    fn new(palette: Palette) -> Self {
        Self::showing(palette, Markdown::Rendered)
    }

    fn showing(palette: Palette, markdown: Markdown) -> Self {
        let wire = Wire::new(SIZE);
        let screen = Screen::new(wire.clone(), SIZE, palette, markdown);
        let mut terminal = Self { screen, wire, editor: LineEditor::default(), now: Instant::now() };
        terminal.type_in("_ Backspace");
        terminal
    }

    fn type_in(&mut self, script: &str) {
        for event in super::events(script) {
            let _ = self.editor.handle(&event);
            self.draw();
        }
    }

    /// Draws after a while in which nothing was drawn.
    fn draw(&mut self) {
        self.draw_after(Duration::from_secs(1));
    }

    fn draw_after(&mut self, time: Duration) {
        self.now += time;
        let view = View { size: SIZE, palette: Palette::PLAIN, live: &[], status: None, footer: None };
        self.screen.draw(render(&self.editor, &view), self.now).unwrap();
    }

    /// Shows a piece of an answer.
    fn stream(&mut self, piece: &str) {
        self.screen.stream_above(piece);
        self.draw();
    }

    /// How often the rows at the bottom were redrawn.
    fn redraws(&self) -> usize {
        let begin = b"\x1b[?2026h";
        self.wire.0.borrow().1.windows(begin.len()).filter(|bytes| bytes == begin).count()
    }
}

#[test]
fn an_answer_that_comes_fast_is_redrawn_30_times_a_second_and_its_end_is_not_lost() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    let before = terminal.redraws();
    let began = terminal.now;
    for number in 1..=1_000 {
        terminal.screen.stream_above(&format!("{number} "));
        if number % 10 == 0 {
            terminal.screen.stream_above("\n\n");
        }
        terminal.draw_after(Duration::from_millis(1));
    }
    let redraws = terminal.redraws() - before;
    assert!((25..=31).contains(&redraws), "{redraws} redraws in {:?}", terminal.now - began);
    terminal.screen.stream_above("the end");
    terminal.draw_after(Duration::ZERO);
    assert!(!terminal.wire.picture().contains("the end"));
    // The chat draws again at this time, even if nothing else happens until then.
    let due = terminal.screen.next_redraw().expect("something is not shown yet");
    terminal.draw_after(due - terminal.now);
    assert!(terminal.wire.picture().ends_with("1000\n\nthe end\n> ‸\n"), "{}", terminal.wire.picture());
    assert_eq!(terminal.screen.next_redraw(), None);
}

#[test]
fn a_key_is_shown_at_once_while_an_answer_comes_fast() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    terminal.stream("It is");
    terminal.screen.stream_above(" so.\n\nAnd");
    terminal.draw_after(Duration::ZERO);
    assert_eq!(terminal.wire.picture(), "It is\n> ‸\n");
    let _ = play(&mut terminal.editor, "k");
    terminal.draw_after(Duration::ZERO);
    assert_eq!(terminal.wire.picture(), "It is so.\n\nAnd\n> k‸\n");
    // So is a remark, behind what the answer has said before it.
    terminal.screen.stream_above(" more\n\n");
    terminal.screen.print_above("[ls]", Style::Plain).unwrap();
    assert_eq!(terminal.wire.picture(), "It is so.\n\nAnd more\n[ls]\n> k‸\n");
    // The end of an answer does not wait either, nor what is scrolled away.
    terminal.screen.stream_above("end");
    terminal.screen.end_answer().unwrap();
    assert_eq!(terminal.wire.picture(), "It is so.\n\nAnd more\n[ls]\n\nend\n> k‸\n");
    terminal.screen.begin_turn();
    terminal.screen.stream_above("one\n\n");
    terminal.screen.scroll_away("").unwrap();
    let scrolled_out = terminal.wire.scrolled_out();
    assert_eq!(scrolled_out.iter().filter(|row| *row == "one").count(), 1, "{scrolled_out:?}");
}

#[test]
fn another_size_and_other_colours_are_drawn_at_once() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    let before = terminal.redraws();
    terminal.draw_after(Duration::ZERO);
    assert_eq!(terminal.redraws(), before);
    terminal.screen.resize(Size { columns: 10, rows: 8 });
    terminal.draw_after(Duration::ZERO);
    terminal.screen.set_palette(Palette::STYLED);
    terminal.draw_after(Duration::ZERO);
    terminal.screen.clear().unwrap();
    terminal.draw_after(Duration::ZERO);
    assert_eq!(terminal.redraws(), before + 3);
}

#[test]
fn output_scrolls_by_above_what_is_typed() {
    let mut terminal = Terminal::new(Palette::STYLED);
    terminal.type_in("fix_the");
    terminal.screen.print_above("one\ntwo\n", Style::Dim).unwrap();
    assert_eq!(terminal.wire.picture(), "one\ntwo\n> fix the‸\n");

    terminal.type_in("_test_of_the_parser Home");
    terminal.screen.print_above("three, which is longer than a row", Style::Plain).unwrap();
    let expected = "one\ntwo\nthree, which is\nlonger than a row\n> ‸fix the test of th\n  e parser\n";
    assert_eq!(terminal.wire.picture(), expected);

    terminal.type_in("^K ok");
    assert_eq!(terminal.wire.picture(), "one\ntwo\nthree, which is\nlonger than a row\n> ok‸\n");
}

#[test]
fn what_was_printed_last_is_printed_again_for_the_width_of_now_as_far_as_there_is_room() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    terminal.screen.print_above("gone", Style::Plain).unwrap();
    terminal.screen.begin_turn();
    terminal.screen.print_above("\nfix it", Style::Strong).unwrap();
    terminal.stream("It is *do");
    terminal.screen.scroll_away("").unwrap();
    assert_eq!(terminal.wire.picture(), "fix it\nIt is *do\n> ‸\n");
    terminal.stream("ne*.\n\nTw");
    assert_eq!(terminal.wire.picture(), "fix it\nIt is *done*.\n\nTw\n> ‸\n");
    terminal.stream("o words");
    terminal.screen.end_answer().unwrap();
    terminal.screen.scroll_away("").unwrap();
    assert_eq!(terminal.wire.picture(), "fix it\nIt is *done*.\n\nTwo words\n> ‸\n");
    // Seven of eight rows are left beside the prompt, and one of them says how many lines there is no room for.
    terminal.screen.print_above("1\n2\n3\n4", Style::Plain).unwrap();
    terminal.screen.scroll_away(" (F5)").unwrap();
    assert_eq!(terminal.wire.picture(), "… 3 more lines (F5)\n\nTwo words\n1\n2\n3\n4\n> ‸\n");
    let scrolled = terminal.wire.scrolled_out();
    assert_eq!(scrolled.iter().filter(|row| *row == "gone").count(), 1, "{scrolled:?}");
}

#[test]
fn an_answer_streams_in_above_the_prompt_and_remarks_above_what_is_open_of_it() {
    let mut terminal = Terminal::new(Palette::STYLED);
    terminal.stream("The test");
    assert_eq!(terminal.wire.picture(), "The test\n> ‸\n");
    terminal.type_in("hm");
    terminal.stream(" passes **now**.\n\nIt was");
    assert_eq!(terminal.wire.picture(), "The test passes now.\n\nIt was\n> hm‸\n");
    terminal.screen.print_above("[ls]", Style::Dim).unwrap();
    terminal.stream(" red");
    assert_eq!(terminal.wire.picture(), "The test passes now.\n[ls]\n\nIt was red\n> hm‸\n");
    terminal.screen.end_answer().unwrap();
    terminal.screen.end_answer().unwrap();
    terminal.stream("next");
    terminal.screen.end_answer().unwrap();
    assert_eq!(terminal.wire.picture(), "The test passes now.\n[ls]\n\nIt was red\nnext\n> hm‸\n");
}

#[test]
fn prose_breaks_between_words_and_code_where_the_row_ends() {
    let text = "Words that do not fit\n- an entry of a **long** list\n12. another one of it\n```\nlet long = 1 + 23456789;\n```\nend";
    let rows = |markdown| {
        let mut terminal = Terminal::showing(Palette::STYLED, markdown);
        for piece in text.split_inclusive(' ') {
            terminal.stream(piece);
        }
        terminal.screen.end_answer().unwrap();
        [terminal.wire.scrolled_out(), vec![terminal.wire.picture()]].concat().join("\n")
    };
    let expected = "Words that do not\nfit\n- an entry of a long\n  list\n12. another one of\n    it\n```\n\
                    let long = 1 + 23456\n789;\n```\nend\n> ‸\n";
    assert_eq!(rows(Markdown::Rendered), expected);
    let as_written = expected.replace("a long\n  list", "a\n  **long** list");
    assert_eq!(rows(Markdown::Raw), as_written);
}

#[test]
fn of_an_open_block_that_is_higher_than_its_room_the_end_is_shown_and_nothing_is_lost() {
    let mut terminal = Terminal::new(Palette::STYLED);
    let words: Vec<String> = (0..40).map(|number| format!("word{number}")).collect();
    for word in &words {
        terminal.stream(&format!("{word} "));
        assert!(terminal.wire.picture().contains(word.as_str()), "{}", terminal.wire.picture());
        assert_eq!(terminal.wire.scrolled_out(), Vec::<String>::new());
    }
    assert_eq!(terminal.wire.picture().lines().count(), 4);
    terminal.screen.end_answer().unwrap();
    let rows = [terminal.wire.scrolled_out(), vec![terminal.wire.picture()]].concat().join("\n");
    assert_eq!(rows.split_whitespace().collect::<Vec<_>>(), [&words[..], &[">".into(), "‸".into()]].concat());
}

#[test]
fn code_of_an_answer_is_copied_as_it_was_written() {
    let code = "fn main() {\n    let text = \"a line that is longer than the row\";\n\n}";
    let mut terminal = Terminal::new(Palette::STYLED);
    terminal.stream(&format!("So:\n\n```rust\n{code}\n```\n"));
    // The terminal knows which rows it broke itself, and copies them as one line.
    let wire = terminal.wire.0.borrow();
    let shown = wire.0.screen().contents();
    assert!(shown.contains("row\";\n\n}\n```"), "{shown}");
    drop(wire);
    let mut large = vt100::Parser::new(20.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0);
    large.process(&terminal.wire.0.borrow().1);
    assert!(large.screen().contents().contains(code), "{}", large.screen().contents());
}

#[test]
fn a_screen_that_is_dropped_leaves_its_output() {
    let mut terminal = Terminal::new(Palette::STYLED);
    terminal.type_in("typed");
    terminal.screen.print_above("printed", Style::Plain).unwrap();
    terminal.stream("open");
    drop(terminal.screen);
    assert_eq!(terminal.wire.picture(), "printed\nopen\n‸\n");
}

#[test]
fn a_screen_that_got_narrower_finds_its_first_row() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    terminal.screen.print_above("above", Style::Plain).unwrap();
    terminal.type_in("aaaaaaaaaaaaaaaabbbb");
    assert_eq!(terminal.wire.picture(), "above\n> aaaaaaaaaaaaaaaabb\n  bb‸\n");
    // At 10 columns the terminal has broken the row of 20 columns in two.
    let sent = terminal.wire.0.borrow().1.len();
    terminal.screen.resize(Size { columns: 10, rows: 8 });
    terminal.draw();
    let codes = String::from_utf8(terminal.wire.0.borrow().1[sent..].to_vec()).unwrap();
    assert!(codes.starts_with("\u{1b}[?2026h\u{1b}[2A\u{1b}[1G\u{1b}[J"), "{codes:?}");
}

/// Behind a row as wide as the screen the cursor stays on its last column, so what clears the rest would clear that.
#[test]
fn a_page_keeps_the_last_column_of_a_full_row() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    let mut row = Row::default();
    row.push_span("a row of 20 columns-", Style::Plain);
    let sent = terminal.wire.0.borrow().1.len();
    terminal.screen.draw_page(&[row.clone(), row]).unwrap();
    let codes = String::from_utf8(terminal.wire.0.borrow().1[sent..].to_vec()).unwrap();
    let row = "\u{1b}[Ka row of 20 columns-";
    assert!(codes.contains(&format!("{row}\r\n{row}\u{1b}[?7h")), "{codes:?}");
}

#[test]
fn a_link_is_told_to_a_terminal_that_takes_them_and_ends_with_its_text() {
    let text = "<https://example.org/a>\n\n[x](https://a.org/\u{1b}]8;;https://evil.com\u{7})\n";
    let sent = |palette| {
        let mut terminal = Terminal::new(palette);
        terminal.stream(text);
        terminal.screen.end_answer().unwrap();
        String::from_utf8(terminal.wire.0.borrow().1.clone()).unwrap()
    };
    let linked = sent(Palette { links: true, ..Palette::STYLED });
    let link = "\u{1b}]8;;https://example.org/a\u{1b}\\https://example.org/a\u{1b}]8;;\u{1b}\\";
    assert!(linked.contains(link), "{linked:?}");
    assert_eq!(linked.matches("\u{1b}]8;").count(), 2 * linked.matches(link).count(), "{linked:?}");
    assert!(!sent(Palette::STYLED).contains("\u{1b}]8;"));
}

#[test]
fn no_code_of_a_text_reaches_the_terminal() {
    let mut terminal = Terminal::new(Palette::PLAIN);
    let _ = terminal.editor.set_ghost(Some(Ghost::only("\x1b[2Jghost")));
    terminal.draw();
    terminal.screen.print_above("\x1b[31mred\x07\u{9b}1m", Style::Added).unwrap();
    terminal.stream("\x1b]0;");
    terminal.stream("title\x1b\\\r");
    terminal.stream("\n\n");
    // Entities of Markdown must not put a control code on the terminal either.
    terminal.stream("&#27;]0;x&#x7; [&#155;1m](<http://&#27;[2J>)\n\n");
    terminal.screen.end_answer().unwrap();
    let bytes = terminal.wire.0.borrow().1.clone();
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains(['\x07', '\u{9b}']) && !text.contains("\x1b]") && !text.contains("\x1b[31m"));
    // Without styles no code for a style is sent.
    assert!(
        !text
            .split("\x1b[")
            .skip(1)
            .any(|code| code.trim_start_matches(['0', '1', '2', '3', ';']).starts_with('m'))
    );
    let rows = [terminal.wire.scrolled_out(), vec![terminal.wire.picture()]].concat().concat();
    assert!(rows.contains("\\u{1b}[31mred\\u{7}"), "{rows}");
    assert!(rows.contains("]0;title\\u{1b}"), "{rows}");
    assert!(rows.contains("\\u{1b}]0;x\\u{7}") && rows.contains("(http://\\u{1b}[2J"), "{rows}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_looks_the_same_in_whatever_pieces_it_comes(
        lines in proptest::collection::vec(
            "[a-d 漢é\\\\*`_|&#;]{0,60}|(- |  [*] |1[.] |> |# |    )?[a-d 漢é-]{0,60}|```|---|[|]a[|]b[|]|[|]-[|]-[|]|\\[a\\](:|\\()[a-d]{1,9}\\)?", 0..12),
        crlf: bool,
        raw: bool,
        cuts in proptest::collection::vec(0_usize..400, 0..12),
        typed in "[a-d ]{0,30}",
        pauses in proptest::collection::vec(0_u64..60, 12),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let markdown = if raw { Markdown::Raw } else { Markdown::Rendered };
        let mut whole = Terminal::showing(Palette::STYLED, markdown);
        let _ = play(&mut whole.editor, &format!("{}_", typed.replace(' ', "_")));
        let mut pieces = Terminal::showing(Palette::STYLED, markdown);
        pieces.editor = whole.editor.clone();
        whole.draw();
        pieces.draw();

        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut start = 0;
        let mut lasting = Vec::new();
        for (place, cut) in cuts.into_iter().enumerate() {
            pieces.screen.stream_above(&text[start..cut]);
            pieces.draw_after(Duration::from_millis(pauses.get(place).copied().unwrap_or(0)));
            start = cut;
            // Rows that scrolled out never change.
            let scrolled_out = pieces.wire.scrolled_out();
            prop_assert!(scrolled_out.starts_with(&lasting));
            lasting = scrolled_out;
        }
        pieces.screen.end_answer().unwrap();
        whole.stream(&text);
        whole.screen.end_answer().unwrap();
        prop_assert_eq!(pieces.wire.picture(), whole.wire.picture());
        prop_assert_eq!(pieces.wire.scrolled_out(), whole.wire.scrolled_out());
    }
}
