//! The files of each product. What their lines hold was read from files that the products wrote; a line of a kind that is not known here is passed over.

mod claude_code;
mod codex;
mod gemini_cli;
mod headstart;
mod opencode;
mod qwen_code;

use std::collections::HashMap;

use headstart_forked_query::ToolOutcome;
use serde::Serialize;
use serde_json::Value;

use super::recorded::Event;

/// A line of a file that is JSON.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) value: Value,
}

/// Whose sessions a file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Product {
    ClaudeCode,
    QwenCode,
    Codex,
    GeminiCli,
    #[serde(rename = "opencode")]
    OpenCode,
    Headstart,
}

impl Product {
    const ALL: [Self; 6] =
        [Self::Headstart, Self::Codex, Self::GeminiCli, Self::OpenCode, Self::QwenCode, Self::ClaudeCode];

    /// Whose file these lines are.
    pub(super) fn of(lines: &[Line]) -> Option<Self> {
        Self::ALL.into_iter().find(|product| match product {
            Self::ClaudeCode => claude_code::wrote(lines),
            Self::QwenCode => qwen_code::wrote(lines),
            Self::Codex => codex::wrote(lines),
            Self::GeminiCli => gemini_cli::wrote(lines),
            Self::OpenCode => opencode::wrote(lines),
            Self::Headstart => headstart::wrote(lines),
        })
    }

    /// What they tell.
    pub(super) fn events(self, lines: Vec<Line>) -> Vec<Event> {
        match self {
            Self::ClaudeCode => claude_code::events(lines),
            Self::QwenCode => qwen_code::events(lines),
            Self::Codex => codex::events(lines),
            Self::GeminiCli => gemini_cli::events(lines),
            Self::OpenCode => opencode::events(lines),
            Self::Headstart => headstart::events(lines),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::QwenCode => "Qwen Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Headstart => "headstart",
        }
    }
}

/// A text in a field.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A time as in RFC 3339, in milliseconds since the Unix epoch.
fn time(value: &Value) -> Option<u64> {
    let moment: jiff::Timestamp = value["timestamp"].as_str()?.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// A number of tokens.
fn tokens(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_default()
}

/// Whether products put a text beside what people type: it begins with a tag, as `<system-reminder>`.
fn is_tagged(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('<') else { return false };
    let name = rest.split(['>', ' ', '\n']).next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    rest.contains('>') && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_name)
}

/// Of several texts that were sent together those that somebody typed.
fn typed(texts: &[&str]) -> String {
    let typed: Vec<_> = texts.iter().copied().filter(|text| !is_tagged(text)).collect();
    typed.join("\n").trim().to_owned()
}

/// What a tool gave back, which failed or not.
fn outcome(output: String, failed: bool) -> ToolOutcome {
    if failed { ToolOutcome::Error(output) } else { ToolOutcome::Output(Value::String(output)) }
}

/// The texts of a list of blocks, or the one text that stands in its place. Of an image only that it was there.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(blocks) => blocks.iter().filter_map(of_block).collect(),
        _ => Vec::new(),
    }
}

fn of_block(block: &Value) -> Option<&str> {
    match block {
        Value::String(text) => Some(text),
        _ if text(block, "type").contains("image") || block.get("inlineData").is_some() => Some("[an image]"),
        _ => block["text"].as_str(),
    }
}

/// Lines that name the line before them: which prompts one stands on.
#[derive(Default)]
struct Branches {
    /// The line before each.
    before: HashMap<String, Option<String>>,
    /// The prompts that stand, with their places.
    prompts: Vec<(String, usize)>,
}

impl Branches {
    /// Takes in a line, of whatever kind.
    fn note(&mut self, value: &Value) {
        let Some(id) = value["uuid"].as_str() else { return };
        let before = ["parentUuid", "logicalParentUuid"].into_iter().find_map(|field| value[field].as_str());
        self.before.insert(id.to_owned(), before.map(str::to_owned));
    }

    /// Takes in a prompt, and tells from which place on what was said before was taken back, if any of it was.
    fn prompt(&mut self, value: &Value, place: usize) -> Option<usize> {
        let first_gone = self.first_gone(value["parentUuid"].as_str());
        let gone = first_gone.and_then(|first| self.prompts.get(first)).map(|(_, place)| *place);
        self.prompts.truncate(first_gone.unwrap_or(usize::MAX));
        self.prompts.push((text(value, "uuid").to_owned(), place));
        gone
    }

    /// The first of the standing prompts on which a line behind this one does not stand. A line of which that is not known stands on all.
    fn first_gone(&self, behind: Option<&str>) -> Option<usize> {
        let mut line = behind;
        let mut steps = 0;
        while let Some(id) = line {
            if let Some(found) = self.prompts.iter().rposition(|(prompt, _)| prompt == id) {
                return (found + 1 < self.prompts.len()).then_some(found + 1);
            }
            steps += 1;
            // A line that comes before itself is no way.
            if self.before.len() < steps {
                return None;
            }
            line = self.before.get(id)?.as_deref();
        }
        (!self.prompts.is_empty()).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_product_puts_beside_a_prompt_begins_with_a_tag() {
        for (text, expected) in [
            ("<system-reminder>\nlook\n</system-reminder>", true),
            (" <ide_opened_file>a.rs</ide_opened_file>", true),
            ("<command-name>/clear</command-name>", true),
            ("<div class=\"a\"> is not closed", true),
            ("<T> is not known here", false),
            ("< 3 of them fail", false),
            ("if a <b fails", false),
            ("<b", false),
            ("", false),
        ] {
            assert_eq!(is_tagged(text), expected, "{text}");
        }
        assert_eq!(
            typed(&["<ide_selection>x</ide_selection>", " rename it ", "[an image]"]),
            "rename it \n[an image]"
        );
    }

    #[test]
    fn lines_that_come_before_themselves_or_after_nothing_take_nothing_back() {
        let mut branches = Branches::default();
        let line = |id: &str, before: Option<&str>| json!({ "uuid": id, "parentUuid": before });
        let prompt = |branches: &mut Branches, id, before, place| {
            branches.note(&line(id, before));
            branches.prompt(&line(id, before), place)
        };
        assert_eq!(prompt(&mut branches, "a", None, 1), None);
        branches.note(&line("x", Some("y")));
        branches.note(&line("y", Some("x")));
        assert_eq!(prompt(&mut branches, "b", Some("x"), 2), None);
        assert_eq!(prompt(&mut branches, "c", Some("unknown"), 3), None);
        branches.note(&line("z", Some("a")));
        assert_eq!(prompt(&mut branches, "d", Some("z"), 4), Some(2));
        assert_eq!(prompt(&mut branches, "e", None, 5), Some(1));
    }
}
