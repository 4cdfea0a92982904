//! Holds how a screen looks in each theme and without styles, and that nothing is said by a colour alone.

use std::time::Instant;

use super::play;
use super::screen::Wire;
use crate::{
    Choice, Diff, Ghost, LineEditor, LiveKind, LiveRow, Markdown, Palette, Popup, Screen, Size, StatusItem,
    StatusLine, Style, Theme, View, render,
};

const SIZE: Size = Size { columns: 60, rows: 24 };
const PATCH: &str = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n the same\n-one of two\n+one of three\n";

/// Each theme, and no styles.
fn palettes() -> impl Iterator<Item = (&'static str, Palette)> {
    let themed = |(name, theme)| (name, Palette { theme: Some(theme), ..Palette::PLAIN });
    Theme::ALL.into_iter().map(themed).chain([("plain", Palette::PLAIN)])
}

/// What a terminal shows after `draw`.
fn drawn(palette: Palette, with_colours: bool, draw: impl FnOnce(&mut Screen<Wire>)) -> String {
    let wire = Wire::new(SIZE);
    // A screen that is dropped removes its frame, so the terminal is looked at before.
    let mut screen = Screen::new(wire.clone(), SIZE, palette, Markdown::Rendered);
    draw(&mut screen);
    picture(&wire, with_colours)
}

fn view(palette: Palette) -> View<'static> {
    View { size: SIZE, palette, live: &[], status: None, footer: None }
}

/// The rows of the terminal, each run of equal cells behind its colour and its attributes. Colours are left out on
/// request.
fn picture(wire: &Wire, with_colours: bool) -> String {
    wire.see(|screen| {
        let (rows, columns) = screen.size();
        let row = |row| {
            let (mut text, mut last) = (String::new(), String::new());
            for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
                let colour = match cell.fgcolor() {
                    vt100::Color::Idx(number) if with_colours => format!("colour {number}"),
                    _ => String::new(),
                };
                let attributes =
                    [(cell.bold(), "bold"), (cell.dim(), "dim"), (cell.underline(), "underlined")];
                let attributes = attributes.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name);
                let style =
                    std::iter::once(colour.as_str()).chain(attributes).filter(|part| !part.is_empty());
                let style = style.collect::<Vec<_>>().join(" ");
                if style != last {
                    text.extend(["‹", &style, "›"]);
                    last = style;
                }
                text.push_str(if cell.contents().is_empty() { " " } else { cell.contents() });
            }
            text.trim_end().to_owned()
        };
        let rows: Vec<_> = (0..rows.get()).map(row).collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    })
}

/// Draws a prompt with a suggestion behind it, below an answer, calls and a diff.
fn draw_all(screen: &mut Screen<Wire>, palette: Palette) {
    let answer = "## Why\n\nIt **subtracts**, see `lib.rs` and [the docs](https://example.org).\n";
    screen.print_above("> why does it fail?", Style::Strong).unwrap();
    screen.stream_above(answer);
    screen.end_answer().unwrap();
    for (text, style) in [
        ("✓ read lib.rs", Style::Accent),
        ("✗ shell cargo test  exit 101", Style::Removed),
        ("  1 failed", Style::Dim),
    ] {
        screen.print_above(text, style).unwrap();
    }
    screen.print_diff_above(&Diff::parse(PATCH), usize::MAX, "").unwrap();
    let call = LiveRow::new(LiveKind::Call, "● shell ls", Style::Accent);
    let live = [LiveRow { end: "  3 s".into(), ..call }];
    let item = |text: &str, is_marked| StatusItem { text: text.to_owned(), is_marked };
    let items = vec![item("yolo", true), item("main*", false), item("190k/200k", true)];
    let footer = StatusLine { items, hints: vec!["? keys".to_owned()] };
    let status = Some("ahead ✓ ready · 2 files +14 -3");
    let view = View { live: &live, status, footer: Some(&footer), ..view(palette) };
    screen.draw(render(&editor("fix", Some(" it"), None), &view), Instant::now()).unwrap();
}

fn editor(typed: &str, ghost: Option<&str>, popup: Option<Popup>) -> LineEditor {
    let mut editor = LineEditor::default();
    let _ = play(&mut editor, typed);
    editor.set_ghost(ghost.map(Ghost::only));
    editor.set_popup(popup);
    editor
}

#[test]
fn a_screen_in_each_palette() {
    for (name, palette) in palettes() {
        let shown = drawn(palette, true, |screen| draw_all(screen, palette));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("palette_{name}"), shown);
        });
    }
}

/// What differs by its meaning, and is compared without its colours.
enum Shown {
    /// A prompt with a suggestion behind it.
    Prompt(&'static str, Option<&'static str>),
    /// A list of which an entry is marked.
    List(&'static str),
    /// A status line with an item that is highlighted, or that is not.
    Status(bool),
    Answer(&'static str),
    /// A line of a diff, with the line that it replaces.
    Diff(&'static str),
}

impl Shown {
    fn draw(&self, screen: &mut Screen<Wire>, palette: Palette) {
        let draw = |screen: &mut Screen<Wire>, editor: &LineEditor, footer: Option<&StatusLine>| {
            screen.draw(render(editor, &View { footer, ..view(palette) }), Instant::now()).unwrap();
        };
        match self {
            Self::Prompt(typed, ghost) => draw(screen, &editor(typed, *ghost, None), None),
            Self::List(keys) => {
                let choice = |label: &str| Choice { label: label.to_owned(), ..Choice::default() };
                let popup = Popup::new(0, ["/help", "/diff"].map(choice).to_vec());
                let mut editor = editor("/", None, popup);
                let _ = play(&mut editor, keys);
                draw(screen, &editor, None);
            }
            Self::Status(is_marked) => {
                let item = StatusItem { text: "190k/200k".to_owned(), is_marked: *is_marked };
                draw(
                    screen,
                    &editor("", None, None),
                    Some(&StatusLine { items: vec![item], hints: Vec::new() }),
                );
            }
            Self::Answer(text) => {
                screen.stream_above(text);
                screen.end_answer().unwrap();
            }
            Self::Diff(lines) => {
                let head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n";
                let diff = Diff::parse(&format!("{head}{lines}"));
                screen.print_diff_above(&diff, usize::MAX, "").unwrap();
            }
        }
    }
}

#[test]
fn nothing_is_said_by_a_colour_alone() {
    let pairs = [
        ("typed and suggested", Shown::Prompt("run", None), Shown::Prompt("", Some("run"))),
        ("the marked entry of a list", Shown::List(""), Shown::List("Down")),
        ("a strong word", Shown::Answer("so\n"), Shown::Answer("**so**\n")),
        ("a heading", Shown::Answer("so\n"), Shown::Answer("# so\n")),
        ("a line that went and one that came", Shown::Diff("-so\n"), Shown::Diff("+so\n")),
        ("a line that came and one that stayed", Shown::Diff("+so\n"), Shown::Diff(" so\n")),
    ];
    for (name, palette) in palettes() {
        let seen = |shown: &Shown| drawn(palette, false, |screen| shown.draw(screen, palette));
        for (what, one, other) in &pairs {
            assert_ne!(seen(one), seen(other), "{what} in {name}");
        }
        // Without styles, which words of a line changed can be read, and the figures of the status say what they say.
        if !palette.is_plain() {
            let changed = seen(&Shown::Diff("-one of two\n+one of six\n"));
            assert!(changed.contains("one of ‹bold underlined›two"), "{changed}");
            assert_ne!(seen(&Shown::Status(true)), seen(&Shown::Status(false)), "the status in {name}");
        }
    }
}
