use std::ops::ControlFlow;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::BuiltinTool;
use headstart_workspace_path::Glob;
use serde_json::{Map, Value, json};

use super::{glob, schema};
use crate::arguments::Arguments;
use crate::content::{BOM, cut, is_binary, read_text};
use crate::line_search::{self, LineSearch};
use crate::location::locate;
use crate::output::Output;
use crate::walk::Walk;
use crate::{Tool, ToolContext, ToolError};

/// A matching line is shown up to so many bytes.
const LINE_BYTES: usize = 500;

/// Finds lines that match a regular expression.
pub(crate) struct Grep;

#[async_trait]
impl Tool for Grep {
    fn schema(&self) -> ToolSchema {
        schema(
            BuiltinTool::Grep,
            "Searches the content of files for a regular expression and returns the matching lines as \
             path:line:text, sorted by path; lines count from 1. Binary files and what .gitignore leaves out are \
             not searched, unless path names an ignored file or folder.",
            &json!({
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
            }),
            &["pattern"],
        )
    }

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let arguments = Arguments::new(BuiltinTool::Grep, args, &["pattern", "path", "glob"])?;
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
        if context.view.metadata(&start).await?.kind != EntryKind::Directory {
            let text = read_text(&start, context).await?;
            let _ = report.search_file(&start, &text);
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

/// Which files are searched.
struct Filter {
    matcher: Glob,
    excludes: bool,
    /// A pattern without `/` is for the name alone, at any depth.
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

/// What was found so far, and why not all.
struct Report<'a> {
    search: Box<dyn LineSearch>,
    context: ToolContext<'a>,
    output: Output,
    matches: usize,
    bytes: u64,
    too_large: usize,
    unreadable: usize,
    stopped: Option<String>,
}

impl<'a> Report<'a> {
    fn new(search: Box<dyn LineSearch>, context: ToolContext<'a>) -> Self {
        let output = Output::new(context.limits.output_bytes);
        Self { search, context, output, matches: 0, bytes: 0, too_large: 0, unreadable: 0, stopped: None }
    }

    /// Searches a file that a walk came to; one that cannot be read is counted, not an error.
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
        match self.context.view.read(path).await {
            Ok(content) if is_binary(&content) => ControlFlow::Continue(()),
            Ok(content) => self.search_file(path, &content),
            Err(_) => {
                self.unreadable += 1;
                ControlFlow::Continue(())
            }
        }
    }

    fn search_file(&mut self, path: &WorkspacePath, content: &[u8]) -> ControlFlow<()> {
        let content = content.strip_prefix(BOM).unwrap_or(content);
        let Self { search, context, output, matches, stopped, .. } = self;
        search.search(content, &mut |number, line| {
            let line = String::from_utf8_lossy(line);
            let shown = cut(&line, LINE_BYTES);
            let mark = if shown.len() < line.len() { " […line cut]" } else { "" };
            if context.limits.matches <= *matches
                || !output.push_line(&format!("{path}:{number}:{shown}{mark}"))
            {
                *stopped = Some(format!("stopped after {matches} matching lines"));
                return ControlFlow::Break(());
            }
            *matches += 1;
            ControlFlow::Continue(())
        })
    }

    fn finish(mut self, pattern: &str, start: &WorkspacePath, notes: Vec<String>) -> String {
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
        self.output.finish()
    }
}
