//! Converts HTML to text token by token, so that the time only depends on the length of a page.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

/// Elements whose content is for programs.
const SKIPPED: [&[u8]; 7] = [b"script", b"style", b"template", b"svg", b"iframe", b"object", b"canvas"];

/// Elements that begin and end on a line of their own.
const BLOCKS: [&[u8]; 32] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"details",
    b"div",
    b"dd",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"header",
    b"hr",
    b"main",
    b"nav",
    b"ol",
    b"option",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"title",
    b"tr",
    b"ul",
    b"caption",
    b"legend",
];

/// The text of HTML as a reader without a screen needs it: blocks on lines of their own, `#` before headings, `-`
/// before items, `|` between cells.
pub(super) fn text_of(html: &str) -> String {
    let mut emitter: DefaultEmitter<()> = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut builder = TextBuilder::default();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => builder.begin(&tag.name, tag.self_closing),
            Token::EndTag(tag) => builder.end(&tag.name),
            Token::String(said) => builder.push_words(&String::from_utf8_lossy(&said)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    builder.text.trim().to_owned()
}

#[derive(Default)]
struct TextBuilder {
    text: String,
    /// The element that is being skipped, and how many of its kind are open.
    skipped: Option<(Vec<u8>, usize)>,
    is_preformatted: bool,
    /// Whether a space is needed before the next word.
    is_apart: bool,
}

impl TextBuilder {
    fn begin(&mut self, name: &[u8], is_closed: bool) {
        if let Some((skipped, open)) = &mut self.skipped {
            *open += usize::from(skipped == name && !is_closed);
            return;
        }
        if SKIPPED.contains(&name) {
            self.skipped = (!is_closed).then(|| (name.to_vec(), 1));
            return;
        }
        self.is_preformatted |= name == b"pre";
        match name {
            [b'h', level @ b'1'..=b'6'] => {
                self.line();
                self.line_between();
                self.text.extend(std::iter::repeat_n('#', usize::from(level - b'0')));
                self.is_apart = true;
            }
            b"li" => {
                self.line();
                self.text.push('-');
                self.is_apart = true;
            }
            b"td" | b"th" if !self.is_at_start() => self.text.push_str(" | "),
            b"p" | b"table" | b"ul" | b"ol" | b"pre" => {
                self.line();
                self.line_between();
            }
            _ if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some((skipped, open)) = &mut self.skipped {
            *open -= usize::from(skipped == name);
            if *open == 0 {
                self.skipped = None;
            }
            return;
        }
        self.is_preformatted &= name != b"pre";
        if BLOCKS.contains(&name) || matches!(name, b"li" | [b'h', b'1'..=b'6']) {
            self.line();
        }
    }

    fn push_words(&mut self, said: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.is_preformatted {
            self.text.push_str(said);
            return;
        }
        for (place, word) in said.split([' ', '\t', '\n', '\r', '\u{c}']).enumerate() {
            self.is_apart |= 0 < place;
            if word.is_empty() {
                continue;
            }
            if self.is_apart && !self.is_at_start() {
                self.text.push(' ');
            }
            self.is_apart = false;
            self.text.push_str(word);
        }
    }

    fn is_at_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(['\n', ' '])
    }

    /// Begins a line, unless one was just begun.
    fn line(&mut self) {
        self.is_apart = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Adds an empty line, unless there is one.
    fn line_between(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_like_a_text() {
        let page = "<!doctype html><title>Fish &amp; more</title><script>if (a < b) steal('</p>')</script><style>p{}</style>\
            <h1>Fish\n  <em>and</em> chips</h1><p>Cod,<br>plaice.<p>Good<b>ness</b> &eacute;<!-- hidden -->\
            <ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><pre>  x\n    y</pre>\
            <svg><text>drawn</text><svg></svg></svg><div><div>end</div></div><textarea><p>raw</textarea>";
        insta::assert_snapshot!(text_of(page), @r"
        Fish & more

        # Fish and chips

        Cod,
        plaice.

        Goodness é

        - one
        - two

        a | b
        1 | 2

          x
            y
        end
        <p>raw
        ");
    }
}
