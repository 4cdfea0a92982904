use std::time::Instant;

use super::{events, play};
use crate::frame::Frame;
use crate::row::Position;
use crate::{
    Choice, Consent, Diff, Ghost, LineEditor, LiveKind, LiveRow, Markdown, Pager, Palette, Passage, Popup,
    Size, StatusItem, StatusLine, Style, View, render,
};

const SIZE: Size = Size { columns: 30, rows: 6 };
const STYLED: View = View { size: SIZE, palette: Palette::STYLED, live: &[], status: None, footer: None };

/// A frame as text between its borders, with `‸` at the cursor. Styled text is in the brackets of its style.
fn picture(frame: &Frame, columns: u16) -> String {
    let mut picture = String::new();
    for (index, row) in frame.rows.iter().enumerate() {
        let mut column = 0;
        picture.push('|');
        for span in &row.spans {
            let (open, close) = match span.style {
                Style::Plain => ("", ""),
                Style::Strong => ("**", "**"),
                Style::Dim => ("‹", "›"),
                _ => ("<", ">"),
            };
            picture.push_str(open);
            for c in span.text.chars() {
                if (index, column) == (frame.cursor.row, frame.cursor.column) {
                    picture.push('‸');
                }
                picture.push(c);
                column += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            }
            picture.push_str(close);
        }
        if index == frame.cursor.row && column <= frame.cursor.column {
            picture.push('‸');
        }
        picture.push_str(&" ".repeat(usize::from(columns).saturating_sub(row.width)));
        picture.push_str("|\n");
    }
    picture
}

fn typed(script: &str, view: &View) -> String {
    let mut editor = LineEditor::default();
    let _ = play(&mut editor, script);
    picture(&render(&editor, view), view.size.columns)
}

fn with_ghost(ghost: &str, view: &View) -> String {
    let mut editor = LineEditor::default();
    editor.set_ghost(Some(Ghost::only(ghost)));
    picture(&render(&editor, view), view.size.columns)
}

/// Draws one of three ghosts behind what is typed.
fn with_rest(script: &str, rest: &str, view: &View) -> String {
    let mut editor = LineEditor::default();
    let _ = play(&mut editor, script);
    editor.set_ghost(Some(Ghost { others: 2, ..Ghost::only(rest) }));
    picture(&render(&editor, view), view.size.columns)
}

#[test]
fn typed_text() {
    let narrow = View { size: Size { columns: 20, rows: 6 }, ..STYLED };
    let pictures = [
        ("empty", typed("_ Backspace", &STYLED)),
        ("a word", typed("hello Left", &STYLED)),
        ("lines", typed("first|second|third Up", &STYLED)),
        ("a full row", typed("aaaaaaaaaabbbbbbbbbbcccccccc", &STYLED)),
        ("a wrapped row", typed("aaaaaaaaaabbbbbbbbbbccccccccccdd Home", &narrow)),
        ("wide", typed("漢字漢字漢字漢字漢字漢字漢字a Left", &STYLED)),
        ("a wide one does not fit", typed("aaaaaaaaaaaaaaaaa漢 Left", &narrow)),
        ("tab", typed("paste:a→b", &STYLED)),
        ("taller than the terminal", typed("1|2|3|4|5|6|7|8 Up Up", &STYLED)),
        ("a cluster wider than a row", typed("paste:ᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀᄀ!", &narrow)),
        ("a cluster of hidden characters", typed("paste:a\u{e0041}\u{e0042}\u{e0043}b Left", &narrow)),
        ("hidden characters", typed("paste:exe.\u{202e}txt", &STYLED)),
    ];
    hold("typed_text", &pictures);
}

#[test]
fn ghost_text() {
    let plain = View { palette: Palette::PLAIN, ..STYLED };
    let low = View { size: Size { columns: 20, rows: 2 }, ..STYLED };
    let pictures = [
        ("styled", with_ghost("run the tests", &STYLED)),
        ("without styles", with_ghost("run the tests", &plain)),
        ("long", with_ghost("add a test for the parser of the header", &STYLED)),
        ("long, in one row", with_ghost("add a test for the parser of the header", &low)),
        ("of more than three rows", with_ghost(&"a long one ".repeat(20), &STYLED)),
        ("behind two rows", with_rest("typed|text", &" and more".repeat(20), &STYLED)),
        ("harmful", with_ghost("run\n\x1b[31m\u{202e}", &STYLED)),
        ("one of three", with_rest("", "run the tests", &STYLED)),
        ("one of three, without styles", with_rest("", "run the tests", &plain)),
        ("behind a beginning", with_rest("ru", "n the tests", &STYLED)),
        ("behind a word", with_rest("run", " the tests", &STYLED)),
        ("behind a word and a blank", with_rest("run_", "the tests", &STYLED)),
        ("behind a word, without styles", with_rest("run", " the tests", &plain)),
        ("the cursor in the middle", with_rest("run Left", " the tests", &STYLED)),
    ];
    hold("ghost_text", &pictures);
}

#[test]
fn status_and_consent() {
    let status = |status| View { status: Some(status), ..STYLED };
    let consent = |question, view| {
        picture(&Consent::about_call(question, None, false, Instant::now()).render(view), SIZE.columns)
    };
    let one_row = View { size: Size { columns: 30, rows: 2 }, ..status("working ahead") };
    let always = |columns, rows| {
        let consent = Consent::about_call("run this?", Some("`make *`".to_owned()), true, Instant::now());
        let view = View { size: Size { columns, rows }, ..STYLED };
        picture(&consent.render(&view), columns)
    };
    let conflict = |columns, rows| {
        let consent = Consent::about_conflict("src/lib.rs:", true, true, Instant::now());
        picture(&consent.render(&View { size: Size { columns, rows }, ..STYLED }), columns)
    };
    let pictures = [
        ("status", with_ghost("run the tests", &status("working ahead: 2 calls"))),
        ("long status", typed("hello", &status("working ahead: 2 calls, 3 files staged, 14 s"))),
        ("no room for a status", typed("hello", &one_row)),
        ("consent", consent("run this?", &STYLED)),
        ("long question", consent("may the model remove the folder `build`?", &STYLED)),
        ("a rule, 40 columns", always(40, 16)),
        ("a rule, 41 columns", always(41, 16)),
        ("a rule, 80 columns", always(80, 24)),
        ("a rule, 40 columns and few rows", always(40, 5)),
        ("a conflict, 20 columns", conflict(20, 8)),
        ("a conflict, 40 columns", conflict(40, 16)),
        ("harmful question", consent("\x1b[2Jrun\u{202e}?", &STYLED)),
    ];
    hold("status_and_consent", &pictures);
}

/// Compares with the snapshot `name`. The example that includes this module uses the same snapshot as the binary.
fn hold(name: &str, pictures: &[(&str, String)]) {
    let pictures: Vec<String> = pictures.iter().map(|(name, picture)| format!("{name}\n{picture}")).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, pictures.join("\n"));
    });
}

#[test]
fn popups() {
    let choice = |label: &str, words: &str| Choice {
        label: label.to_owned(),
        words: words.to_owned(),
        text: format!("{label} "),
        is_whole: false,
    };
    let commands = || {
        let long = "work ahead: how it stands; off, auto, always; more raises what it may lose";
        vec![choice("/help", "the commands and keys"), choice("/background [HOW]", long), choice("/diff", "")]
    };
    let paths = || (1..=12).map(|number| choice(&format!("@\"src/a file {number}.rs\""), "")).collect();
    let harmful = || vec![choice("@\x1b[2J\u{202e}.txt", "\x1b[31m")];
    let shown = |choices: Vec<Choice>, script: &str, columns, rows| {
        let mut editor = LineEditor::default();
        let _ = play(&mut editor, "see_/");
        editor.set_popup(Popup::new(4, choices));
        let _ = play(&mut editor, script);
        let view = View { size: Size { columns, rows }, status: Some("ahead looking · 2 reads"), ..STYLED };
        picture(&render(&editor, &view), columns)
    };
    let numbered = |columns| {
        let mut editor = LineEditor::default();
        let guess = |label: &str, words: &str| choice(label, words);
        let guesses = vec![
            guess("run the tests", "✓ ready · 41 passed"),
            guess("commit this", ""),
            guess("push", "looking"),
        ];
        editor.set_popup(Popup::numbered(guesses, 1));
        picture(&render(&editor, &View { size: Size { columns, rows: 24 }, ..STYLED }), columns)
    };
    let pictures = [
        ("40 columns", shown(commands(), "", 40, 24)),
        ("80 columns", shown(commands(), "Down", 80, 24)),
        ("120 columns", shown(commands(), "Up", 120, 24)),
        ("longer than the list", shown(paths(), "Up Up", 40, 24)),
        ("few rows", shown(paths(), "Down Down Down", 40, 8)),
        ("no room for a list", shown(paths(), "", 40, 5)),
        ("a narrow terminal", shown(commands(), "", 12, 24)),
        ("harmful", shown(harmful(), "", 40, 24)),
        ("with numbers", numbered(80)),
        ("with numbers, narrow", numbered(24)),
    ];
    hold("popups", &pictures);
}

#[test]
fn status_lines() {
    let item = |text: &str| StatusItem { text: text.to_owned(), is_marked: false };
    let hints = || ["Tab takes it · → edits it", "Tab takes it", "/help"].map(str::to_owned).to_vec();
    let items = |mode: &str| {
        let mode = StatusItem { text: mode.to_owned(), is_marked: mode == "yolo" };
        let rest = ["sonnet", "main*", "24k/200k", "$0.08", "saved 41 s"].map(item);
        StatusLine { items: [vec![mode], rest.to_vec()].concat(), hints: hints() }
    };
    let shown = |footer: &StatusLine, columns, rows, live: &[LiveRow]| {
        let status = Some("ahead looking · 2 reads");
        let view = View {
            size: Size { columns, rows },
            palette: Palette::STYLED,
            live,
            status,
            footer: Some(footer),
        };
        let mut editor = LineEditor::default();
        let _ = play(&mut editor, "hello");
        picture(&render(&editor, &view), columns)
    };
    let call = || LiveRow::new(LiveKind::Call, "● shell cargo test", Style::Plain);
    let live = |rows: usize| vec![call(); rows];
    let harmful = StatusLine { items: vec![item("\x1b[31m\u{202e}main")], hints: hints() };
    let pictures = [
        ("40 columns", shown(&items("auto-edit"), 40, 24, &[])),
        ("room for a short hint", shown(&items("plan"), 72, 24, &[])),
        ("room for the shortest hint", shown(&items("plan"), 64, 24, &[])),
        ("80 columns", shown(&items("yolo"), 80, 24, &[])),
        ("120 columns", shown(&items("plan"), 120, 24, &[])),
        ("it is the first to give way", shown(&items("plan"), 40, 8, &live(9))),
        ("few rows", shown(&items("plan"), 40, 5, &[])),
        ("nothing in it", shown(&StatusLine::default(), 40, 24, &[])),
        ("harmful", shown(&harmful, 40, 24, &[])),
    ];
    hold("status_lines", &pictures);
}

#[test]
fn live_rows() {
    let call =
        LiveRow { end: "  3 s".into(), ..LiveRow::new(LiveKind::Call, "● shell make", Style::Accent) };
    let output = (1..=4).map(|line| LiveRow::new(LiveKind::Output, format!("  line {line}"), Style::Dim));
    let queued = ["test it", "commit it", "push it"];
    let queued = queued.map(|text| LiveRow::new(LiveKind::Queued, format!("next: {text}"), Style::Dim));
    let live: Vec<_> = std::iter::once(call).chain(output).chain(queued).collect();
    let shown = |rows| {
        let view = View { size: Size { columns: 30, rows }, live: &live, ..STYLED };
        picture(&render(&LineEditor::default(), &view), 30)
    };
    let pictures = [24, 16, 14, 10, 8, 6].map(|rows| (format!("{rows} rows"), shown(rows)));
    let pictures: Vec<_> = pictures.iter().map(|(name, shown)| (name.as_str(), shown.clone())).collect();
    hold("live_rows", &pictures);
}

#[test]
fn what_is_read_fills_the_screen_and_says_where_its_reader_is() {
    let patch = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn add() {\n-    a - b\n+    a + b\n";
    let answer = "# Why\n\nThe function **add** subtracts, which is what the test complains of; see `lib.rs`.\n\n1. first\n2. second\n";
    let passages = || {
        vec![
            Passage::Text("\n> why does the test fail?\x1b[2J".to_owned(), Style::Strong),
            Passage::Answer(answer.to_owned()),
            Passage::Text(
                (1..=20).map(|line| format!("  line {line}")).collect::<Vec<_>>().join("\n"),
                Style::Dim,
            ),
            Passage::Diff(Diff::parse(patch)),
        ]
    };
    let shown = |script: &str, columns: u16, rows: u16, at_end: bool| {
        let size = Size { columns, rows };
        let mut reader =
            Pager::new("conversation", passages(), Markdown::Rendered, (size, Palette::STYLED), at_end);
        for event in events(script) {
            assert!(!reader.handle(&event), "{script}");
        }
        let frame = Frame { rows: reader.screen(), cursor: Position { row: usize::from(rows), column: 0 } };
        picture(&frame, columns)
    };
    let pictures = [
        ("40 columns, from the start", shown("", 40, 10, false)),
        ("80 columns, at the end", shown("", 80, 10, true)),
        ("120 columns, a page on", shown("f", 120, 10, false)),
        ("beyond the end", shown("f f f f f f", 40, 10, false)),
        ("back to the start", shown("G g", 40, 6, false)),
        ("searched", shown("/ l i n e _ 7 Enter", 40, 6, false)),
        ("searched, the next", shown("/ l i n e _ 1 Enter n", 40, 6, false)),
        ("while words are typed", shown("/ l i n", 40, 6, false)),
        ("one row", shown("j", 40, 1, false)),
    ];
    hold("reader", &pictures);
}
