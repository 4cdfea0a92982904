use std::ops::ControlFlow;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::built_in;
use headstart_workspace_path::Glob;
use serde_json::{Map, Value, json};

use super::{glob, schema};
use crate::arguments::Arguments;
use crate::content::{BOM, read_text, searchable};
use crate::line_search::{self, LineSearch};
use crate::location::locate;
use crate::output::{OutputText, truncate_str};
use crate::walk::Walk;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The most bytes that are shown of a matching line.
const LINE_BYTES: usize = 500;

/// Finds lines that match a regular expression.
pub(crate) struct Grep;

#[async_trait]
impl Tool for Grep {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::GREP,
            "Searches the content of files for a regular expression and returns the matching lines as \
             path:line:text, sorted by path; lines count from 1. Binary files and what .gitignore leaves out are \
             not searched, unless path names an ignored file or folder.",
            &with_more(json!({
                "pattern": {
                    "type": "string",
                    "description": "The regular expression, matched line by line, as in ripgrep; (?i) at the \
                                    beginning ignores case. No look-around, no back-references."
                },
                "path": {
                    "type": "string",
                    "description": "The file or folder to search: relative to the workspace, or absolute inside it. \
                                    Default: the workspace."
                },
                "glob": {
                    "type": "string",
                    "description": "Only files that match this glob: *.rs at any depth, src/**/*.rs from the \
                                    workspace or from path; ! at the beginning excludes."
                },
            })),
            &["pattern"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let known: &[&str] = if cfg!(feature = "more") {
            &["pattern", "path", "glob", "context"]
        } else {
            &["pattern", "path", "glob"]
        };
        let arguments = Arguments::new(&built_in::GREP, args, known)?;
        let pattern = arguments.required_text("pattern")?;
        let search = line_search::compile(pattern).map_err(|message| arguments.invalid(&message))?;
        let filter = match arguments.text("glob")? {
            None => None,
            Some(glob) => {
                Some(Filter::parse(glob).map_err(|message| arguments.invalid(&format!("glob: {message}")))?)
            }
        };
        let start = locate(arguments.path()?.unwrap_or("."), context).await?;

        let mut report = Report::new(search, context);
        #[cfg(feature = "more")]
        {
            report.around = arguments.count("context")?.unwrap_or(0);
            if MAX_AROUND < report.around {
                return Err(arguments.invalid(&format!("the argument context must be at most {MAX_AROUND}")));
            }
        }
        if context.view.metadata(&start).await?.kind != EntryKind::Directory {
            let text = read_text(&start, context).await?;
            let _ = report.search_file(&start, &text.bytes);
            return Ok(report.finish(pattern, &start, Vec::new()));
        }
        let mut walk = Walk::new(start.clone(), context).await?;
        while let Some(found) = walk.next().await {
            let wanted = filter.as_ref().is_none_or(|filter| filter.allows(&found.path, &start));
            if found.kind != EntryKind::File || !wanted {
                continue;
            }
            if report.visit(&found.path).await.is_break() {
                break;
            }
        }
        let notes = walk.notes();
        Ok(report.finish(pattern, &start, notes))
    }
}

/// The most lines before and after a match.
#[cfg(feature = "more")]
const MAX_AROUND: usize = 5;

/// The arguments, including those of a full toolbox.
#[cfg(feature = "more")]
fn with_more(mut properties: Value) -> Value {
    properties["context"] = json!({
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_AROUND,
        "description": "How many lines to show before and after each match; the matches of a file then stand below its name. Default: 0."
    });
    properties
}

#[cfg(not(feature = "more"))]
fn with_more(properties: Value) -> Value {
    properties
}

fn line_of(number: impl TryInto<u32>) -> (u32, u32) {
    let number = number.try_into().unwrap_or(u32::MAX);
    (number, number)
}

/// The files that are searched.
struct Filter {
    matcher: Glob,
    excludes: bool,
    /// Whether the pattern, because it has no `/`, applies to the name alone, at any depth.
    name_only: bool,
}

impl Filter {
    fn parse(glob: &str) -> Result<Self, String> {
        let (excludes, glob) = match glob.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, glob),
        };
        Ok(Self { matcher: glob::compile(glob)?, excludes, name_only: !glob.contains('/') })
    }

    fn allows(&self, path: &WorkspacePath, start: &WorkspacePath) -> bool {
        let matches = if self.name_only {
            self.matcher.is_match(path.file_name().unwrap_or_default())
        } else {
            let below = path.strip_prefix(start).unwrap_or_default();
            self.matcher.is_match(path.as_bytes()) || self.matcher.is_match(below.as_bytes())
        };
        matches != self.excludes
    }
}

/// The findings so far, and why there may be more.
struct Report<'a> {
    search: Box<dyn LineSearch>,
    context: ToolContext<'a>,
    output: OutputText,
    matches: usize,
    bytes: u64,
    too_large: usize,
    unreadable: usize,
    stopped: Option<String>,
    /// How many lines are shown before and after each match.
    #[cfg(feature = "more")]
    around: usize,
}

impl<'a> Report<'a> {
    fn new(search: Box<dyn LineSearch>, context: ToolContext<'a>) -> Self {
        let output = OutputText::new(context.limits.output_bytes);
        Self {
            search,
            context,
            output,
            matches: 0,
            bytes: 0,
            too_large: 0,
            unreadable: 0,
            stopped: None,
            #[cfg(feature = "more")]
            around: 0,
        }
    }

    /// Searches one file. If it cannot be read it is counted, which is not an error.
    async fn visit(&mut self, path: &WorkspacePath) -> ControlFlow<()> {
        let limits = self.context.limits;
        let Ok(metadata) = self.context.view.metadata(path).await else {
            self.unreadable += 1;
            return ControlFlow::Continue(());
        };
        if limits.file_bytes < metadata.len {
            self.too_large += 1;
            return ControlFlow::Continue(());
        }
        if limits.search_bytes < self.bytes.saturating_add(metadata.len) {
            self.stopped = Some(format!("stopped after {} bytes of files", self.bytes));
            return ControlFlow::Break(());
        }
        self.bytes += metadata.len;
        let Ok(content) = self.context.view.read(path).await else {
            self.unreadable += 1;
            return ControlFlow::Continue(());
        };
        match searchable(content) {
            None => ControlFlow::Continue(()),
            Some(text) => self.search_file(path, &text),
        }
    }

    fn search_file(&mut self, path: &WorkspacePath, content: &[u8]) -> ControlFlow<()> {
        let content = content.strip_prefix(BOM).unwrap_or(content);
        #[cfg(feature = "more")]
        if 0 < self.around {
            return self.search_with_lines_around(path, content);
        }
        let Self { search, context, output, matches, stopped, .. } = self;
        search.search(content, &mut |number, line| {
            let line = String::from_utf8_lossy(line);
            let shown = truncate_str(&line, LINE_BYTES);
            let mark = if shown.len() < line.len() { " […line cut]" } else { "" };
            if context.limits.matches <= *matches
                || !output.push_match(path, line_of(number), &format!("{path}:{number}:{shown}{mark}"))
            {
                *stopped = Some(format!("stopped after {matches} matching lines"));
                return ControlFlow::Break(());
            }
            *matches += 1;
            ControlFlow::Continue(())
        })
    }

    /// The matches in a file below its name, each with the lines around it, and `--` where lines are left out.
    #[cfg(feature = "more")]
    fn search_with_lines_around(&mut self, path: &WorkspacePath, content: &[u8]) -> ControlFlow<()> {
        let room = self.context.limits.matches.saturating_sub(self.matches);
        let mut found = Vec::new();
        let _ = self.search.search(content, &mut |number, _| {
            found.push(usize::try_from(number).unwrap_or(usize::MAX));
            if found.len() <= room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let is_cut = room < found.len();
        found.truncate(room);
        let lines: Vec<_> = content.split(|byte| *byte == b'\n').collect();
        let mut shown_to = 0;
        for (index, number) in found.iter().enumerate() {
            let first = number.saturating_sub(self.around).max(shown_to + 1);
            let last = (number + self.around).min(lines.len());
            let mut group = Vec::new();
            if shown_to == 0 {
                group.push(path.to_string());
            } else if shown_to + 1 < first {
                group.push("  --".to_owned());
            }
            // The next match shows its own line, and what follows it.
            let last = found.get(index + 1).map_or(last, |next| last.min(next - 1));
            for at in first..=last {
                let line =
                    String::from_utf8_lossy(lines[at - 1].strip_suffix(b"\r").unwrap_or(lines[at - 1]));
                // Behind the last line end there is no line.
                if at == lines.len() && line.is_empty() && at != *number {
                    break;
                }
                let shown = truncate_str(&line, LINE_BYTES);
                let mark = if shown.len() < line.len() { " […line cut]" } else { "" };
                group.push(format!("  {at}{}{shown}{mark}", if at == *number { ':' } else { '-' }));
            }
            shown_to = last;
            let numbers = (line_of(first).0, line_of(last).1);
            for line in group {
                if !self.output.push_match(path, numbers, &line) {
                    self.stopped = Some(format!("stopped after {} matching lines", self.matches));
                    return ControlFlow::Break(());
                }
            }
            self.matches += 1;
        }
        if is_cut {
            self.stopped = Some(format!("stopped after {} matching lines", self.matches));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn finish(mut self, pattern: &str, start: &WorkspacePath, notes: Vec<String>) -> ToolOutput {
        if let Some(stopped) = &self.stopped {
            self.output.note(&format!("{stopped}; a narrower pattern, path or glob shows the rest"));
        } else if self.matches == 0 {
            self.output.note(&format!("no line in {start} matches {pattern}"));
        }
        for note in notes {
            self.output.note(&note);
        }
        if 0 < self.too_large {
            let limit = self.context.limits.file_bytes;
            self.output
                .note(&format!("not searched for being larger than {limit} bytes: {}", self.too_large));
        }
        if 0 < self.unreadable {
            self.output.note(&format!("files that could not be read: {}", self.unreadable));
        }
        self.output.finish_items()
    }
}
