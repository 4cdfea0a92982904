use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome};
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::{Behaviour, Declaration, built_in, ours};
use serde_json::{Map, Value};

use crate::content::{BOM, FileText, searchable};
use crate::location::locate_for_write;
use crate::replacement::replace;
use crate::tools::text_of_page;
use crate::{ToolContext, ToolError, Toolbox};

/// The end of the fence in which a prompt carries a file that its user has mentioned.
const MENTION_END: &str = "\n</mentioned>";

/// What a conversation shows of the file that a call would replace.
///
/// The conversation itself is the record: what the model has read or written of a file, followed through its edits. So
/// it lasts as long as the conversation does, in another process and in work ahead too, and what a summary has left out
/// is not known any more.
#[derive(Debug, Clone, Default)]
pub struct KnownFile {
    /// The file as the model last read or wrote it.
    text: Option<String>,
    /// Whether that text was the whole file. A long file is read in parts.
    is_whole: bool,
    /// What else showed the file since: a command that printed it, a mention.
    shown: Vec<String>,
}

impl KnownFile {
    /// What these messages show of the file that the call would replace; nothing if it replaces none. The workspace is the path of its root, for calls that name absolute paths.
    pub fn of<'a>(call: &ToolCall, messages: impl Iterator<Item = &'a Message>, workspace: &str) -> Self {
        let Some(path) = replaced_path(call).and_then(|path| WorkspacePath::resolve(path, workspace).ok())
        else {
            return Self::default();
        };
        let mut known = Self::default();
        let mut calls: Vec<&ToolCall> = Vec::new();
        for message in messages {
            if message.role == Role::User {
                known.add_mentions(&message.to_text(), &path);
            }
            for part in &message.parts {
                match part {
                    Part::ToolCall(call) => calls.push(call),
                    Part::ToolResult(result) => {
                        let made = calls.iter().position(|call| call.id == result.id);
                        let made = made.map(|place| calls.swap_remove(place));
                        if let (Some(made), ToolOutcome::Output(output)) = (made, &result.outcome) {
                            known.add(made, output.as_str().unwrap_or_default(), &path, workspace);
                        }
                    }
                    _ => {}
                }
            }
        }
        known
    }

    /// Takes in a call that succeeded.
    fn add(&mut self, call: &ToolCall, output: &str, path: &WorkspacePath, workspace: &str) {
        let tool = Declaration::of_ours(&call.name);
        let named = tool.and_then(|tool| tool.path_argument(&call.args).ok().flatten());
        let is_it = named.is_some_and(|named| WorkspacePath::resolve(named, workspace).as_ref() == Ok(path));
        let argument = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_of_files =
            tool.is_some_and(|tool| matches!(tool.behaviour, Behaviour::Reads | Behaviour::Edits));
        match tool {
            Some(tool) if is_it && tool.name == built_in::READ_FILE.name => {
                let page = text_of_page(&call.args, output);
                self.add_page(page.first, page.text, page.is_last);
                // A note that only looks like one is a line of the file.
                self.shown.push(output.to_owned());
            }
            Some(tool)
                if is_it
                    && [&*built_in::WRITE_FILE.name, &*ours::CREATE_FILE.name].contains(&&*tool.name) =>
            {
                self.add_page(1, argument("content"), true);
            }
            Some(tool) if is_it && tool.name == built_in::EDIT.name => self.edit(&call.args),
            Some(tool) if is_it && tool.name == ours::MULTI_EDIT.name => {
                let edits = call.args.get("edits").and_then(Value::as_array).into_iter().flatten();
                edits.filter_map(Value::as_object).for_each(|edit| self.edit(edit));
            }
            _ if !is_of_files && names(&call.args, path) => self.shown.push(output.to_owned()),
            _ => {}
        }
    }

    /// Takes in lines from a number on, which is counted from 1.
    fn add_page(&mut self, first: usize, page: &str, is_last: bool) {
        if first == 1 && is_last {
            (self.text, self.is_whole) = (Some(page.to_owned()), true);
            self.shown.clear();
            return;
        }
        let before = self.text.take().unwrap_or_default();
        let has_gap = before.lines().count() + 1 < first;
        let bytes = |lines: usize| before.split_inclusive('\n').take(lines).map(str::len).sum::<usize>();
        let end = first - 1 + page.split_inclusive('\n').count();
        let behind = if is_last { "" } else { &before[bytes(end)..] };
        self.text = Some(format!("{}{page}{behind}", &before[..bytes(first - 1)]));
        self.is_whole = !has_gap && (self.is_whole || is_last);
    }

    fn edit(&mut self, args: &Map<String, Value>) {
        let argument = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        let all = args.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
        let (old, new) = (argument("old_string"), argument("new_string"));
        if old.is_empty() {
            return self.add_page(1, new, true);
        }
        for text in self.text.iter_mut().chain(&mut self.shown) {
            // What the edit does not fit was not the file, and will not be found to be.
            if let Ok(replaced) = replace(text.as_bytes(), old, new, all) {
                *text = String::from_utf8_lossy(&replaced.content).into_owned();
            }
        }
    }

    /// Takes in what a prompt says that its user has mentioned.
    fn add_mentions(&mut self, prompt: &str, path: &WorkspacePath) {
        let begin = format!("=\"{path}\">\n");
        for (start, _) in prompt.match_indices(&begin) {
            let rest = &prompt[start + begin.len()..];
            self.shown.extend(rest.find(MENTION_END).map(|end| rest[..end].to_owned()));
        }
    }

    /// Whether all of this content was shown.
    fn shows(&self, content: &[u8]) -> bool {
        let Some(content) = searchable(content.to_vec()) else { return false };
        let now = comparable(&String::from_utf8_lossy(content.strip_prefix(BOM).unwrap_or(&content)));
        let whole = self.text.iter().filter(|_| self.is_whole);
        whole.chain(&self.shown).any(|known| comparable(known) == now)
    }
}

/// A text without the differences that reading and writing do not show: the kind of its line ends, and whether the last
/// line has one.
fn comparable(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
}

/// The file that a call replaces as a whole, or in all places of a text, as the call names it. What an edit replaces in
/// one place is shown by the text that it names.
fn replaced_path(call: &ToolCall) -> Option<&str> {
    let tool =
        Declaration::of_ours(&call.name).filter(|_| replaces_whole(call) || replaces_all(&call.args))?;
    tool.path_argument(&call.args).ok().flatten()
}

fn replaces_whole(call: &ToolCall) -> bool {
    Declaration::built_in(&call.name).is_some_and(|tool| tool.name == built_in::WRITE_FILE.name)
}

fn replaces_all(args: &Map<String, Value>) -> bool {
    let edits = args.get("edits").and_then(Value::as_array).into_iter().flatten();
    let mut edits = edits.filter_map(Value::as_object).chain([args]);
    edits.any(|edit| edit.get("replace_all").and_then(Value::as_bool).unwrap_or_default())
}

/// Whether a text among the arguments names the file.
fn names(args: &Map<String, Value>, path: &WorkspacePath) -> bool {
    let Some(name) = path.file_name().map(String::from_utf8_lossy) else { return false };
    args.values().filter_map(Value::as_str).any(|text| text.contains(&*name))
}

impl Toolbox {
    /// Whether a call may replace the file that it names: of one that `write_file` replaces, the model must have seen all
    /// that is lost with it, as it is now. A file that is empty, or not there, may always be written. An edit that
    /// replaces a text wherever it is must only not meet another file than the model knows.
    pub async fn check_known(
        &self,
        call: &ToolCall,
        context: ToolContext<'_>,
        known: &KnownFile,
    ) -> Result<(), ToolError> {
        let Some(path) = replaced_path(call).filter(|_| self.is_edit(&call.name)) else { return Ok(()) };
        // Whatever is wrong with the path, the tool says it.
        let Ok(path) = locate_for_write(path, context).await else { return Ok(()) };
        let Ok(metadata) = context.view.metadata(&path).await else { return Ok(()) };
        if metadata.kind != EntryKind::File || metadata.len == 0 {
            return Ok(());
        }
        if metadata.len <= context.limits.file_bytes {
            let found = context.view.read(&path).await?;
            let given = call.args.get("content").and_then(Value::as_str).unwrap_or_default();
            // Nothing shows a binary file as it is, so reading it is no way on: the tool names one.
            if found == given.as_bytes() || known.shows(&found) || FileText::of(found).is_none() {
                return Ok(());
            }
        }
        if !replaces_whole(call) && !known.is_whole {
            return Ok(());
        }
        if context.limits.file_bytes < metadata.len {
            return Err(ToolError::failed(format!(
                "{path} has {} bytes, more than can be read and known; change it with a command, or, if all of it is \
                 to be replaced, remove it first",
                metadata.len
            )));
        }
        Err(ToolError::failed(if known.is_whole {
            format!("{path} changed meanwhile; read it again")
        } else {
            format!(
                "{path} has content that you have not seen; read it again, all of it, or change it with edit"
            )
        }))
    }
}

#[cfg(test)]
mod tests;
