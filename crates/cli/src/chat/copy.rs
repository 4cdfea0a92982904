//! `/copy` puts an answer, or the code in it, into the clipboard.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headstart_agent::{Item, View};
use headstart_machine::error::CliError;
use headstart_terminal::{Style, TerminalFeatures};

use super::Chat;
use super::command::CopySource;

/// The most bytes that every terminal accepts for the clipboard.
const MAX_BYTES: usize = 74_000;

impl Chat {
    /// Puts the text into the clipboard if the terminal is known to support that, otherwise into a file.
    pub(super) fn copy(&mut self, which: CopySource) -> Result<(), CliError> {
        let Some(text) = copied_text(&self.agent.view(), which) else {
            return self.display.say("there is nothing like that to copy yet", Style::Dim);
        };
        let size = format!("{} characters", text.chars().count());
        let known = TerminalFeatures::of(|name| self.models.variable(name));
        if known.takes_clipboard && text.len() <= MAX_BYTES {
            self.display.send(&known.clipboard(&STANDARD.encode(&text)))?;
            return self.display.say(&format!("{size} are in the clipboard"), Style::Dim);
        }
        let why = if known.takes_clipboard {
            "it is long for a clipboard"
        } else {
            "this terminal is not known to have a clipboard"
        };
        match self.write_copy(&text) {
            Ok(path) => self.display.say(&format!("{why}: {size} are in {path}"), Style::Dim),
            Err(error) => {
                self.display.say(&format!("{why}, and no file can be written: {error}"), Style::Removed)
            }
        }
    }

    /// Writes the text to a file that only its user can read.
    fn write_copy(&self, text: &str) -> std::io::Result<String> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("headstart-copy-").suffix(".md");
        let mut file = match &self.parts.state {
            Some(state) => {
                std::fs::create_dir_all(state)?;
                builder.tempfile_in(state)?
            }
            None => builder.tempfile()?,
        };
        file.write_all(text.as_bytes())?;
        let (_, path) = file.keep()?;
        Ok(path.display().to_string())
    }
}

fn copied_text(view: &View, which: CopySource) -> Option<String> {
    let mut answers = view.items.iter().rev().filter_map(|item| match &**item {
        Item::Answer { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    match which {
        CopySource::Answer(number) => answers.nth(number.checked_sub(1)?).map(str::to_owned),
        CopySource::Code => answers.find_map(last_code),
    }
}

/// The last block of code in an answer, as the model wrote it.
fn last_code(answer: &str) -> Option<String> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut last = None;
    let mut code: Option<String> = None;
    for event in Parser::new(answer) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code = Some(String::new()),
            Event::Text(text) => {
                if let Some(code) = &mut code {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => last = code.take().or(last),
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_code_of_an_answer_is_its_source() {
        for (answer, expected) in [
            ("no code", None),
            ("a `word`", None),
            ("```rust\nfn a() {}\n```\nand\n```\n  b <\t&amp;\n\n```\nend", Some("  b <\t&amp;\n\n")),
            ("1. first\n\n   ```sh\n   ls\n   ```\n", Some("ls\n")),
        ] {
            assert_eq!(last_code(answer).as_deref(), expected, "{answer}");
        }
    }
}
