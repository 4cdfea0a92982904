//! Pages of figures: tables, numbers with units, and lines that fit the terminal.

use unicode_width::UnicodeWidthStr;

use super::ColorMode;
use crate::context::Context;
use headstart_terminal::Size;

/// The form of a page of figures.
#[derive(Debug, Clone, Copy)]
pub struct PageLayout {
    /// The columns of the terminal; `None` for a pipe, where no line is broken.
    pub width: Option<usize>,
    pub style: ColorMode,
}

impl PageLayout {
    pub fn of(context: &Context) -> Self {
        let terminal = context.output.is_terminal().then(|| Size::of_terminal().ok()).flatten();
        let width = terminal.map(|size| usize::from(size.columns).max(20));
        Self { width, style: context.output.style() }
    }

    /// The lines of a page, none of them wider than the terminal.
    pub fn fit(self, text: &str) -> String {
        let lines: Vec<_> = text.lines().map(|line| broken(line, self)).collect();
        lines.join("\n") + "\n"
    }
}

/// A table whose columns are as wide as their widest cell. The first and the last column are aligned to the left, the
/// others to the right.
pub fn table<const N: usize>(head: &[String; N], rows: &[[String; N]], layout: PageLayout) -> String {
    let width =
        |column: usize| rows.iter().chain([head]).map(|row| row[column].width()).max().unwrap_or_default();
    let line = |row: &[String; N]| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let room = " ".repeat(width(column).saturating_sub(cell.width()));
            if column == 0 || column + 1 == N { format!("{cell}{room}") } else { format!("{room}{cell}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![layout.style.dim(&line(head))];
    lines.extend(rows.iter().map(line));
    lines.join("\n") + "\n"
}

/// Breaks a line that does not fit, at a blank if there is one. A line with colors is left alone, because it is shorter
/// than its text.
fn broken(line: &str, layout: PageLayout) -> String {
    let Some(width) = layout.width.filter(|width| !line.contains('\x1b') && *width < line.width()) else {
        return line.to_owned();
    };
    let (mut rows, mut row) = (Vec::new(), String::new());
    for word in line.split(' ') {
        if !row.is_empty() && width < row.width() + 1 + word.width() {
            rows.push(std::mem::replace(&mut row, "  ".to_owned()));
        } else if !row.is_empty() || !rows.is_empty() {
            row.push(' ');
        }
        row += word;
    }
    rows.push(row);
    rows.join("\n")
}

/// A share, in per cent.
pub fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}

/// A number with its thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The rows of a text. A command between backticks stays whole, however long it is, because it will be copied.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    /// Stands for a blank at which no row ends; `printable` lets no such character through.
    const HELD: char = '\u{1}';
    let held: String = text
        .split_inclusive('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { part.replace(' ', &HELD.to_string()) } else { part.to_owned() })
        .collect();
    let options =
        textwrap::Options::new(room).break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&held, options).into_iter().map(|row| row.replace(HELD, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn a_line_goes_on_after_the_edge() {
        let layout = PageLayout { width: Some(8), style: ColorMode::Plain };
        for (line, expected) in [
            ("12345678", "12345678"),
            ("1234 56 789", "1234 56\n  789"),
            ("123456789 1", "123456789\n  1"),
            ("日本語 文", "日本語\n  文"),
            ("a  b", "a  b"),
        ] {
            assert_eq!(broken(line, layout), expected);
        }
        let pipe = PageLayout { width: None, ..layout };
        assert_eq!(broken("1234 56 789", pipe), "1234 56 789");
    }

    #[test]
    fn a_command_that_will_be_copied_stays_on_one_row() {
        let help =
            "the kernel refuses it; `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows it";
        assert_eq!(
            wrapped(help, 30),
            [
                "the kernel refuses it;",
                "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
                "allows it"
            ]
        );
    }
}
