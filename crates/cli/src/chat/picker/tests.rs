use headstart_machine::output::one_line;
use headstart_terminal::{Palette, Size, View, render};

use super::*;

fn row(place: usize, title: &str) -> SessionRow {
    SessionRow {
        id: format!("id{place}"),
        title: one_line(title),
        age: age(place as u64 * 3_600_000),
        words: format!("{} turns, {place} files", place * 7),
    }
}

/// The screen with these sessions while this is typed.
fn shown(rows: &[SessionRow], typed: &str, columns: u16) -> String {
    let mut editor = LineEditor::default();
    editor.replace(typed);
    editor.set_popup(Popup::new(0, choices(rows, typed, columns.into())));
    let size = Size { columns, rows: 24 };
    let view = View { size, palette: Palette::PLAIN, live: &[], status: Some("Resume"), footer: None };
    let rows = render(&editor, &view).rows;
    let texts = rows.iter().map(|row| row.spans.iter().map(|span| span.text.as_str()).collect::<String>());
    texts.collect::<Vec<_>>().join("\n")
}

/// The labels and descriptions in the list.
fn listed(rows: &[SessionRow], typed: &str, columns: usize) -> Vec<(String, String)> {
    choices(rows, typed, columns).into_iter().map(|choice| (choice.label, choice.words)).collect()
}

fn pair(label: &str, words: &str) -> (String, String) {
    (label.to_owned(), words.to_owned())
}

#[test]
fn sessions_are_rows_of_age_title_and_size() {
    let titles = [
        "fix the parser's add",
        "a title that is longer than there is room for in a narrow terminal",
        "漢字の題名",
    ];
    let rows: Vec<_> = titles.iter().enumerate().map(|(place, title)| row(place + 1, title)).collect();
    assert_eq!(listed(&[], "", 80), Vec::new());
    assert_eq!(listed(&rows[..1], "", 80), [pair("1 h     fix the parser's add", "7 turns, 1 files")]);
    let narrow = [
        pair("1 h     fix the parser's add", "7 turns, 1 files"),
        pair("2 h     a title that is longer than there is roo…", "14 turns, 2 files"),
        pair("3 h     漢字の題名", "21 turns, 3 files"),
    ];
    assert_eq!(listed(&rows, "", 80), narrow);
    assert_eq!(listed(&rows, "", 120)[1].0, format!("2 h     {}", titles[1]));
    assert_eq!(listed(&rows, "prsr", 80), narrow[..1]);
    for columns in [20, 40, 80, 120] {
        let text = shown(&rows, "", columns);
        assert!(text.contains("> 1 h") && text.contains("  3 h"), "{columns}: {text}");
    }
}

#[test]
fn of_a_hundred_those_that_fit_are_listed_and_a_title_brings_nothing_to_the_screen() {
    let mut rows: Vec<_> =
        (1..=99).map(|place| row(place, &format!("conversation number {place}"))).collect();
    rows.push(row(100, "\u{1b}[31mred\u{202e}evil"));
    assert_eq!(listed(&rows, "", 80).len(), 100);
    assert!(listed(&rows, "number 42", 80)[0].0.ends_with("number 42"));
    assert_eq!(listed(&rows, "xyzzy", 80), Vec::new());
    let hostile = shown(&rows, "evil", 80);
    assert!(hostile.contains("evil") && !hostile.contains(['\u{1b}', '\u{202e}']), "{hostile:?}");
}
