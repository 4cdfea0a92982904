use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::BuiltinTool;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::{BOM, cut, read_text};
use crate::location::locate;
use crate::{Tool, ToolContext, ToolError};

/// Returns the lines of a text file as they are, without line numbers, so that they can be quoted to `edit`.
pub(crate) struct ReadFile;

struct ReadFileArgs<'a> {
    file_path: &'a str,
    /// The first line, from 1.
    offset: usize,
    limit: usize,
}

impl<'a> ReadFileArgs<'a> {
    fn parse(args: &'a Map<String, Value>, context: ToolContext<'_>) -> Result<Self, ToolError> {
        let arguments = Arguments::new(BuiltinTool::ReadFile, args, &["file_path", "offset", "limit"])?;
        let limit = arguments.count("limit")?.unwrap_or(context.limits.read_lines);
        if limit == 0 {
            return Err(arguments.invalid("the argument limit must be at least 1"));
        }
        Ok(Self {
            file_path: arguments.required_path("file_path")?,
            offset: arguments.count("offset")?.unwrap_or(1).max(1),
            limit: limit.min(context.limits.read_lines),
        })
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn schema(&self) -> ToolSchema {
        schema(
            BuiltinTool::ReadFile,
            "Reads a text file and returns its lines exactly as they are, without line numbers. A long file comes in \
             parts: a note in square brackets at the end says how to read on. Binary files are refused.",
            &json!({
                "file_path": {
                    "type": "string",
                    "description": "The file: relative to the workspace, or absolute inside it."
                },
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The first line to return, counted from 1 as in the output of grep. Default: 1."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How many lines to return at most."
                },
            }),
            &["file_path"],
        )
    }

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let args = ReadFileArgs::parse(args, context)?;
        let path = locate(args.file_path, context).await?;
        let bytes = read_text(&path, context).await?;
        let text = String::from_utf8_lossy(bytes.strip_prefix(BOM).unwrap_or(&bytes));
        let mut page = page(&path, &text, &args, context.limits.output_bytes)?;
        if matches!(text, std::borrow::Cow::Owned(_)) {
            page.notes.push("not all of the file is UTF-8; bytes that are not show as U+FFFD".to_owned());
        }
        Ok(page.into_output())
    }
}

/// A part of a file, and what is to be said of it.
struct Page<'a> {
    text: &'a str,
    notes: Vec<String>,
}

impl Page<'_> {
    fn into_output(self) -> String {
        let mut output = self.text.to_owned();
        for note in self.notes {
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            output.push('[');
            output.push_str(&note);
            output.push(']');
        }
        output
    }
}

fn page<'a>(
    path: &WorkspacePath,
    text: &'a str,
    args: &ReadFileArgs<'_>,
    output_bytes: usize,
) -> Result<Page<'a>, ToolError> {
    let total = text.split_inclusive('\n').count();
    if total == 0 && args.offset <= 1 {
        return Ok(Page { text: "", notes: vec![format!("{path} is empty")] });
    }
    if total < args.offset {
        let message = format!("{path} has {total} lines; offset {} is behind its end", args.offset);
        return Err(ToolError::Failed { message });
    }
    let start = text.split_inclusive('\n').take(args.offset - 1).map(str::len).sum();
    let mut end: usize = start;
    let mut shown = 0;
    for line in text[start..].split_inclusive('\n').take(args.limit) {
        if output_bytes < end - start + line.len() {
            break;
        }
        end += line.len();
        shown += 1;
    }
    let first = args.offset;
    if shown == 0 {
        let line = text[start..].split_inclusive('\n').next().unwrap_or_default();
        let beginning = cut(line, output_bytes);
        let note = format!(
            "line {first} of {total} has {} bytes, of which the first {} are shown; grep finds text in the rest; \
             to go on with the next line, read with offset {}",
            line.len(),
            beginning.len(),
            first + 1,
        );
        return Ok(Page { text: beginning, notes: vec![note] });
    }
    let last = first + shown - 1;
    let notes = match (first, last < total) {
        (_, true) => {
            vec![format!("lines {first} to {last} of {total}; to read on, use offset {}", last + 1)]
        }
        (1, false) => Vec::new(),
        (_, false) => vec![format!("lines {first} to {last} of {total}, the end")],
    };
    Ok(Page { text: &text[start..end], notes })
}
