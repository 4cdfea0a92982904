//! A terminal's screen as an SVG picture.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 14.0;
const BACKGROUND: &str = "#1b1f24";
const FOREGROUND: &str = "#d7dce2";
/// The first eight colours of a terminal, each readable on the background.
const COLORS: [&str; 8] =
    ["#5c6370", "#f07178", "#7fd88f", "#e5c07b", "#61afef", "#c792ea", "#56c8d8", FOREGROUND];

/// A part of a row whose text has one look.
struct TextRun {
    column: u16,
    columns: u16,
    text: String,
    style: CellStyle,
}

#[derive(Clone, Copy, PartialEq)]
struct CellStyle {
    color: &'static str,
    bold: bool,
    dim: bool,
}

/// Draws the rows down to the last one that holds something, and the cursor. The text of each row is passed through
/// `clean`.
pub(crate) fn of_screen(screen: &Screen, clean: &dyn Fn(&str) -> String) -> String {
    let (rows, columns) = screen.size();
    let filled = (0..rows.get()).rev().find(|row| !text_of(screen, *row).trim().is_empty()).unwrap_or(0);
    let width = f32::from(columns.get()) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(filled + 1) * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-size=\"14\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    let (row, column) = screen.cursor_position();
    let cursor = (MARGIN + f32::from(column) * CELL.0, MARGIN + f32::from(row) * CELL.1);
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{FOREGROUND}\" fill-opacity=\"0.6\"/>",
        cursor.0, cursor.1, CELL.0, CELL.1
    );
    for row in 0..=filled {
        for run in runs(screen, row, clean) {
            draw(&mut svg, row, &run);
        }
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, row: u16, run: &TextRun) {
    let x = MARGIN + f32::from(run.column) * CELL.0;
    let y = MARGIN + f32::from(row) * CELL.1 + 13.5;
    // The length is fixed, so that all cells have the same width in any font.
    let length = f32::from(run.columns) * CELL.0;
    let weight = if run.style.bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if run.style.dim { " fill-opacity=\"0.6\"" } else { "" };
    let text = run.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" fill=\"{}\"{weight}{opacity} xml:space=\"preserve\">{text}</text>",
        run.style.color
    );
}

/// The runs of a row, without blanks at their ends.
fn runs(screen: &Screen, row: u16, clean: &dyn Fn(&str) -> String) -> Vec<TextRun> {
    let text = text_of(screen, row);
    let cleaned = clean(&text);
    // The replaced text has the same length, and everything before it is ASCII, so that the letters stay in their
    // cells.
    let mut letters = cleaned.chars();
    let mut runs: Vec<TextRun> = Vec::new();
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let shown: String = letters.by_ref().take(cell.contents().chars().count().max(1)).collect();
        let style = style_of(cell);
        match runs.last_mut().filter(|run| run.style == style) {
            Some(run) => {
                run.text += &shown;
                run.columns = column + 1 - run.column;
            }
            None => runs.push(TextRun { column, columns: 1, text: shown, style }),
        }
    }
    for run in &mut runs {
        let blanks = run.text.len() - run.text.trim_end().len();
        run.text.truncate(run.text.len() - blanks);
        run.columns -= u16::try_from(blanks).unwrap_or(run.columns);
    }
    runs.retain(|run| !run.text.trim().is_empty());
    runs
}

/// The text of a row, with a blank for each empty cell.
fn text_of(screen: &Screen, row: u16) -> String {
    let cells = (0..screen.size().1.get()).filter_map(|column| screen.cell(row, column));
    let cells = cells.filter(|cell| !cell.is_wide_continuation());
    cells.map(|cell| if cell.has_contents() { cell.contents() } else { " " }).collect()
}

fn style_of(cell: &Cell) -> CellStyle {
    let color = match cell.fgcolor() {
        Color::Idx(index) => COLORS[usize::from(index % 8)],
        Color::Default | Color::Rgb(..) => FOREGROUND,
    };
    CellStyle { color, bold: cell.bold(), dim: cell.dim() }
}
