use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::built_in;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::{BOM, read_text};
use crate::location::locate;
use crate::output::truncate_str;
use crate::{ContextItem, Tool, ToolContext, ToolError, ToolOutput};

/// Returns the lines of a text file unchanged and without line numbers, so that they can be quoted to `edit`.
pub(crate) struct ReadFile;

struct ReadFileArgs<'a> {
    file_path: &'a str,
    /// The first line, from 1.
    offset: usize,
    limit: usize,
    /// The last line, if it is before the first one.
    #[cfg(feature = "more")]
    backwards: Option<usize>,
}

impl<'a> ReadFileArgs<'a> {
    fn parse(args: &'a Map<String, Value>, context: ToolContext<'_>) -> Result<Self, ToolError> {
        #[cfg(feature = "more")]
        let known = ["file_path", "offset", "limit", "start_line", "end_line"];
        #[cfg(not(feature = "more"))]
        let known = ["file_path", "offset", "limit"];
        let arguments = Arguments::new(&built_in::READ_FILE, args, &known)?;
        #[cfg(feature = "more")]
        if let Some(range) = Self::range(&arguments, context)? {
            return Ok(range);
        }
        let limit = arguments.count("limit")?.unwrap_or(context.limits.read_lines);
        if limit == 0 {
            return Err(arguments.invalid("the argument limit must be at least 1"));
        }
        Ok(Self {
            file_path: arguments.required_path("file_path")?,
            offset: arguments.count("offset")?.unwrap_or(1).max(1),
            limit: limit.min(context.limits.read_lines),
            #[cfg(feature = "more")]
            backwards: None,
        })
    }

    /// The lines by their first and last number, if these are given.
    #[cfg(feature = "more")]
    fn range(arguments: &Arguments<'a>, context: ToolContext<'_>) -> Result<Option<Self>, ToolError> {
        let (start, end) = (arguments.count("start_line")?, arguments.count("end_line")?);
        if start.is_none() && end.is_none() {
            return Ok(None);
        }
        if arguments.count("offset")?.is_some() || arguments.count("limit")?.is_some() {
            return Err(arguments.invalid("start_line and offset, or end_line and limit, say the same; give the first two or the last two"));
        }
        let first = start.unwrap_or(1);
        if first == 0 {
            return Err(arguments.invalid("the argument start_line must be at least 1"));
        }
        let last = end.unwrap_or(usize::MAX);
        Ok(Some(Self {
            file_path: arguments.required_path("file_path")?,
            offset: first,
            limit: last.saturating_sub(first).saturating_add(1).min(context.limits.read_lines),
            backwards: (last < first).then_some(last),
        }))
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::READ_FILE,
            "Reads a text file and returns its lines exactly as they are, without line numbers. A long file comes in \
             parts: a note in square brackets at the end says how to read on. Binary files are refused.",
            &with_more(json!({
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
            })),
            &["file_path"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let args = ReadFileArgs::parse(args, context)?;
        let path = locate(args.file_path, context).await?;
        let bytes = read_text(&path, context).await?.bytes;
        let text = String::from_utf8_lossy(bytes.strip_prefix(BOM).unwrap_or(&bytes));
        let mut page = page(&path, &text, &args, context.limits.output_bytes)?;
        if matches!(text, std::borrow::Cow::Owned(_)) {
            page.notes.push("not all of the file is UTF-8; bytes that are not show as U+FFFD".to_owned());
        }
        let lines = page.lines;
        Ok(ToolOutput::of([ContextItem::of_file(&path, lines, page.into_output())]))
    }
}

/// The arguments, including those of a full toolbox.
#[cfg(feature = "more")]
fn with_more(mut properties: Value) -> Value {
    let line = |which: &str| json!({ "type": "integer", "minimum": 1, "description": which });
    properties["start_line"] = line("In place of offset: the first line to return, from 1.");
    properties["end_line"] = line("In place of limit: the last line to return.");
    properties
}

#[cfg(not(feature = "more"))]
fn with_more(properties: Value) -> Value {
    properties
}

/// What a result of `read_file` shows.
pub(crate) struct ShownPage<'a> {
    /// The number of the first line, from 1.
    pub(crate) first: usize,
    pub(crate) text: &'a str,
    /// Whether the file ends with it.
    pub(crate) is_last: bool,
}

/// The lines in the result of a call with these arguments, without the notes behind them.
pub(crate) fn text_of_page<'a>(args: &Map<String, Value>, output: &'a str) -> ShownPage<'a> {
    let first = ["offset", "start_line"].iter().find_map(|name| args.get(*name)?.as_u64());
    let first = first.and_then(|first| usize::try_from(first).ok()).unwrap_or(1).max(1);
    let (mut text, mut is_last) = (output, true);
    while let Some(note) =
        text.rsplit('\n').next().filter(|line| line.starts_with('[') && line.ends_with(']'))
    {
        if note.starts_with("[lines ") || note.starts_with("[line ") {
            is_last &= note.ends_with(", the end]");
        } else if !note.starts_with(NOT_ALL_TEXT) && !note.ends_with(" is empty]") {
            break;
        }
        text = &text[..text.len() - note.len()];
    }
    ShownPage { first, text, is_last }
}

/// How the note begins that is added where bytes of a file are no text.
const NOT_ALL_TEXT: &str = "[not all of the file is UTF-8";

/// A part of a file, with remarks.
struct Page<'a> {
    text: &'a str,
    /// The first and the last line, unless it is the whole file.
    lines: Option<(u32, u32)>,
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
        return Ok(Page { text: "", lines: None, notes: vec![format!("{path} is empty")] });
    }
    #[cfg(feature = "more")]
    if let Some(last) = args.backwards {
        let message =
            format!("end_line {last} is before start_line {}; {path} has {total} lines", args.offset);
        return Err(ToolError::failed(message));
    }
    if total < args.offset {
        let message = format!("{path} has {total} lines; offset {} is behind its end", args.offset);
        return Err(ToolError::failed(message));
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
        let beginning = truncate_str(line, output_bytes);
        let note = format!(
            "line {first} of {total} has {} bytes, of which the first {} are shown; grep finds text in the rest; \
             to go on with the next line, read with offset {}",
            line.len(),
            beginning.len(),
            first + 1,
        );
        return Ok(Page { text: beginning, lines: Some(numbers(first, first)), notes: vec![note] });
    }
    let last = first + shown - 1;
    let notes = match (first, last < total) {
        (_, true) => {
            vec![format!("lines {first} to {last} of {total}; to read on, use offset {}", last + 1)]
        }
        (1, false) => Vec::new(),
        (_, false) => vec![format!("lines {first} to {last} of {total}, the end")],
    };
    let lines = (1 < first || last < total).then(|| numbers(first, last));
    Ok(Page { text: &text[start..end], lines, notes })
}

fn numbers(first: usize, last: usize) -> (u32, u32) {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    (number(first), number(last))
}
