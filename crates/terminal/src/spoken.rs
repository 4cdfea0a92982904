use super::markdown::{AnswerRenderer, Markdown, RenderOptions};
use super::palette::Palette;
use super::row::Row;

/// An answer as lines for a screen reader: without marks of Markdown, and each line only once it is complete.
#[derive(Debug, Clone, Default)]
pub struct SpokenAnswer(AnswerRenderer);

impl SpokenAnswer {
    /// The lines that are complete with this piece.
    pub fn push(&mut self, piece: &str) -> Vec<String> {
        lines(&self.0.push(piece, options()))
    }

    /// The remaining lines at the end.
    pub fn end(&mut self) -> Vec<String> {
        lines(&std::mem::take(&mut self.0).end(options()))
    }
}

/// A look with styles. They are not shown, but without them marks would be in the text in their place.
fn options() -> RenderOptions {
    let palette = Palette { theme: Some(super::Theme::default()), utf8: true, links: false };
    RenderOptions { columns: u16::MAX, palette, markdown: Markdown::ReadAloud, highlights: false }
}

fn lines(rows: &[Row]) -> Vec<String> {
    let text = |row: &Row| row.spans.iter().map(|span| span.text.as_str()).collect::<String>();
    rows.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_lines_without_marks_and_a_table_names_and_values() {
        let source = "## Why\n\nA **long** line with `code` that no screen breaks, however long it may become while it goes on and on and on and on.\n\n\
            | name | gets |\n| --- | --- |\n| add | 4 |\n| sub | 0 |\n";
        let mut spoken = SpokenAnswer::default();
        let mut lines = Vec::new();
        for character in source.chars() {
            lines.extend(spoken.push(&character.to_string()));
        }
        lines.extend(spoken.end());
        lines.retain(|line| !line.is_empty());
        assert_eq!(
            lines,
            [
                "Why",
                "A long line with code that no screen breaks, however long it may become while it goes on and on and on and on.",
                "name: add",
                "gets: 4",
                "name: sub",
                "gets: 0",
            ]
        );
    }
}
