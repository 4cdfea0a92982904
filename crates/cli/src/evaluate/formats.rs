//! The file formats of each product. What is known about their lines comes from files that the products wrote; lines of
//! unknown kinds are ignored.

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

use super::recorded_conversation::SessionEvent;

/// A line of a file, parsed as JSON.
#[derive(Debug)]
pub(super) struct JsonLine {
    /// The number of the line, counted from 1.
    pub(super) number: usize,
    pub(super) value: Value,
}

/// The product that wrote a file.
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

    /// The product that wrote these lines.
    pub(super) fn of(lines: &[JsonLine]) -> Option<Self> {
        Self::ALL.into_iter().find(|product| match product {
            Self::ClaudeCode => claude_code::recognizes(lines),
            Self::QwenCode => qwen_code::recognizes(lines),
            Self::Codex => codex::recognizes(lines),
            Self::GeminiCli => gemini_cli::recognizes(lines),
            Self::OpenCode => opencode::recognizes(lines),
            Self::Headstart => headstart::recognizes(lines),
        })
    }

    /// The events that the lines contain.
    pub(super) fn events(self, lines: Vec<JsonLine>) -> Vec<SessionEvent> {
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

/// The text in a field; empty if there is none.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The time in the field `timestamp`, from RFC 3339 to milliseconds since the Unix epoch.
fn time(value: &Value) -> Option<u64> {
    let moment: jiff::Timestamp = value["timestamp"].as_str()?.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// The number of tokens in a field; 0 if there is none.
fn tokens(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_default()
}

/// Whether a product added this text to what its user typed. Such texts begin with a tag, such as `<system-reminder>`.
fn is_tagged(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('<') else { return false };
    let name = rest.split(['>', ' ', '\n']).next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    rest.contains('>') && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_name)
}

/// The texts that a person typed, of several that were sent together.
fn typed(texts: &[&str]) -> String {
    let typed: Vec<_> = texts.iter().copied().filter(|text| !is_tagged(text)).collect();
    typed.join("\n").trim().to_owned()
}

/// The result of a tool, which is an error if `failed` is set.
fn outcome(output: String, failed: bool) -> ToolOutcome {
    if failed { ToolOutcome::Error(output) } else { ToolOutcome::Output(Value::String(output)) }
}

/// The texts in a list of blocks, or the single text in its place. An image is replaced by a note that there was one.
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

/// A tree of lines, each of which names the line before it. It is used to find out which prompts are still part of the
/// conversation.
#[derive(Default)]
struct MessageTree {
    /// The line before each line.
    before: HashMap<String, Option<String>>,
    /// The prompts that are still part of the conversation, with their places.
    prompts: Vec<(String, usize)>,
}

impl MessageTree {
    /// Adds a line of any kind.
    fn note(&mut self, value: &Value) {
        let Some(id) = value["uuid"].as_str() else { return };
        let before = ["parentUuid", "logicalParentUuid"].into_iter().find_map(|field| value[field].as_str());
        self.before.insert(id.to_owned(), before.map(str::to_owned));
    }

    /// Adds a prompt. If it takes back a part of the conversation, returns the place of the first prompt that is gone.
    fn prompt(&mut self, value: &Value, place: usize) -> Option<usize> {
        let first_discarded = self.first_discarded(value["parentUuid"].as_str());
        let gone = first_discarded.and_then(|first| self.prompts.get(first)).map(|(_, place)| *place);
        self.prompts.truncate(first_discarded.unwrap_or(usize::MAX));
        self.prompts.push((text(value, "uuid").to_owned(), place));
        gone
    }

    /// The index of the first prompt that does not come before a line behind this one, and so is gone. If it is unknown
    /// what comes before the line, no prompt is gone.
    fn first_discarded(&self, behind: Option<&str>) -> Option<usize> {
        let mut line = behind;
        let mut steps = 0;
        while let Some(id) = line {
            if let Some(found) = self.prompts.iter().rposition(|(prompt, _)| prompt == id) {
                return (found + 1 < self.prompts.len()).then_some(found + 1);
            }
            steps += 1;
            // A line that leads back to itself gives no answer.
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
        let mut branches = MessageTree::default();
        let line = |id: &str, before: Option<&str>| json!({ "uuid": id, "parentUuid": before });
        let prompt = |branches: &mut MessageTree, id, before, place| {
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
