//! The events of a conversation as updates of the protocol. Nothing here does IO.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Diff, MessageId, SessionUpdate, TextContent, ToolCall, ToolCallContent,
    ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, Usage,
};
use headstart_agent::{AppliedPlace, AppliedWork, CallItem};
use headstart_forked_query::{ToolCall as Call, ToolOutcome, Usage as Tokens};
use headstart_machine::conversation::words::{call_title_of, counts_with};
use headstart_machine::output::{one_line, printable, said_of_command};
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet};
use headstart_speculation::CallStage;
use headstart_tool_gate::{Behaviour, Declaration};
use headstart_toolbox::{ItemUri, edited_file};
use serde_json::Value;

/// Text of the model, in the answer with this key in the conversation.
pub(super) fn answer(key: usize, text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(key, text))
}

/// Text of this program, as a message of its own.
pub(super) fn agent_message(number: u64, text: &str) -> SessionUpdate {
    let chunk = ContentChunk::new(block(text)).message_id(MessageId::new(format!("headstart-{number}")));
    SessionUpdate::AgentMessageChunk(chunk)
}

/// A prompt of the user, with this key in the conversation.
pub(super) fn prompt(key: usize, text: &str) -> SessionUpdate {
    SessionUpdate::UserMessageChunk(chunk(key, text))
}

fn chunk(key: usize, text: &str) -> ContentChunk {
    ContentChunk::new(block(text)).message_id(MessageId::new(format!("message-{key}")))
}

fn block(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn content(text: &str) -> ToolCallContent {
    ToolCallContent::from(block(text))
}

/// The id of the call with this key in the conversation.
pub(super) fn call_id(key: usize) -> ToolCallId {
    ToolCallId::new(format!("call-{key}"))
}

/// A call that the client does not know yet.
pub(super) fn call(key: usize, item: &CallItem, workspace: &Path) -> ToolCall {
    let call = &item.call;
    ToolCall::new(call_id(key), title(call))
        .name(call.name.clone())
        .kind(kind(call))
        .status(status(item))
        .locations(locations(call, workspace))
        .raw_input(Value::Object(call.args.clone()))
}

/// A call, as the client is asked about it. What a model says of its command is not among the arguments, where a client
/// would show it as one, but is told as the model's words, because nothing holds it to the truth.
pub(super) fn pending_call(
    key: usize,
    call: &Call,
    changes: Option<&ChangeSet>,
    workspace: &Path,
) -> ToolCallUpdate {
    let said = said_of_command(call);
    let does = call.args.iter().filter(|(name, _)| said.is_none() || *name != "description");
    let fields = ToolCallUpdateFields::new()
        .title(title(call))
        .kind(kind(call))
        .status(ToolCallStatus::Pending)
        .locations(locations(call, workspace))
        .raw_input(Value::Object(does.map(|(name, value)| (name.clone(), value.clone())).collect()));
    let fields = match (changes, about_command(call, said)) {
        (Some(changes), _) => fields.content(diffs(changes, workspace)),
        (None, Some(about)) => fields.content(vec![content(&about)]),
        (None, None) => fields,
    };
    ToolCallUpdate::new(call_id(key), fields)
}

/// What the title of a call that runs a command does not show: its further lines, its folder, and what the model says of
/// it, in Markdown.
fn about_command(call: &Call, said: Option<String>) -> Option<String> {
    if !Declaration::of_ours(&call.name).is_some_and(Declaration::runs_commands) {
        return None;
    }
    let text = |name: &str| call.args.get(name).and_then(Value::as_str);
    let whole = text("command").filter(|command| !title(call).ends_with(command)).map(|command| {
        let longest = command.split(|sign| sign != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let lines: Vec<_> = command.lines().map(printable).collect();
        format!("{fence}sh\n{}\n{fence}", lines.join("\n"))
    });
    let folder = text("directory").map(|folder| format!("In the folder {}", one_line(folder)));
    let said = said.map(|said| format!("The model says: {}", one_line(&said)));
    let parts: Vec<_> = [whole, folder, said].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// What is new about a call. `written` is what it changed.
pub(super) fn changed_call(
    key: usize,
    item: &CallItem,
    written: Option<&ChangeSet>,
    workspace: &Path,
) -> ToolCallUpdate {
    let mut shown = written.map(|written| diffs(written, workspace)).unwrap_or_default();
    match (&item.outcome, &item.printed) {
        (Some(ToolOutcome::Error(message)), _) => shown.push(content(message)),
        (Some(ToolOutcome::Output(output)), _) if shown.is_empty() => {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            shown.push(content(&text));
        }
        (None, Some(printed)) => shown.push(content(printed)),
        _ => {}
    }
    let fields = ToolCallUpdateFields::new().status(status(item)).title(title(&item.call));
    let fields = if shown.is_empty() { fields } else { fields.content(shown) };
    // The client already knows the paths that the call named.
    let found = result_locations(item, workspace);
    let is_new = !found.is_empty() && found != locations(&item.call, workspace);
    let fields = if is_new { fields.locations(found) } else { fields };
    let fields = match &item.outcome {
        Some(ToolOutcome::Output(output)) => fields.raw_output(output.clone()),
        Some(ToolOutcome::Error(message)) => fields.raw_output(Value::from(message.as_str())),
        None => fields,
    };
    ToolCallUpdate::new(call_id(key), fields)
}

/// The places in the workspace that a result is about.
fn result_locations(item: &CallItem, workspace: &Path) -> Vec<ToolCallLocation> {
    let place = |uri: &ItemUri| match uri {
        ItemUri::File { path, lines } => {
            Some(ToolCallLocation::new(workspace.join(path.to_string())).line(lines.map(|(first, _)| first)))
        }
        ItemUri::Url(_) => None,
    };
    item.items.iter().filter_map(|item| item.uri.as_ref()).filter_map(place).collect()
}

/// Says that work ahead was accepted and applied.
pub(super) fn applied(
    id: ToolCallId,
    applied: &AppliedWork,
    written: Option<&ChangeSet>,
    workspace: &Path,
) -> ToolCall {
    let summary = &applied.changes;
    let does = match applied.place {
        AppliedPlace::Written => "Took what ran ahead",
        AppliedPlace::Staged => "Staged what ran ahead",
        AppliedPlace::WrittenTurns => "Written",
    };
    let title = format!("{does}: {}", counts_with(summary, applied.git.as_deref()));
    let places = summary.iter().map(|row| ToolCallLocation::new(workspace.join(row.path.to_string())));
    let mut shown = written.map(|written| diffs(written, workspace)).unwrap_or_default();
    if shown.is_empty() && !summary.is_empty() {
        shown.push(content(&headstart_machine::conversation::words::changes(
            summary,
            &[],
            applied.git.as_deref(),
        )));
    }
    ToolCall::new(id, title)
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Completed)
        .locations(places.collect())
        .content(shown)
}

/// The old and the new text of each changed file that is text in both versions.
pub(in crate::hosts) fn diffs(changes: &ChangeSet, workspace: &Path) -> Vec<ToolCallContent> {
    changes.changes.iter().filter_map(|change| diff(change, workspace)).collect()
}

fn diff(change: &Change, workspace: &Path) -> Option<ToolCallContent> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let before = match &change.base_content {
        Some(content) => Some(text(content)?),
        None => None,
    };
    let after = match &change.kind {
        ChangeKind::Write { content, .. } => text(content)?,
        ChangeKind::Delete => {
            before.as_ref()?;
            String::new()
        }
        _ => return None,
    };
    let path = workspace.join(change.path.to_string());
    Some(ToolCallContent::Diff(Diff::new(path, after).old_text(before)))
}

/// Token counts in the protocol's form, in which each token counts once; `None` if the model reported none.
pub(super) fn usage(tokens: Tokens) -> Option<Usage> {
    let Tokens { cached_input_tokens: read, cache_creation_tokens: written, output_tokens: output, .. } =
        tokens;
    let input = tokens.input_tokens.saturating_sub(read).saturating_sub(written);
    let total = input.saturating_add(read).saturating_add(written).saturating_add(output);
    let some = |count: u64| Some(count).filter(|count| 0 < *count);
    let usage =
        Usage::new(total, input, output).cached_read_tokens(some(read)).cached_write_tokens(some(written));
    (0 < total).then_some(usage)
}

fn title(call: &Call) -> String {
    one_line(&call_title_of(call))
}

pub(super) fn kind(call: &Call) -> ToolKind {
    match Declaration::of_ours(&call.name).map(|tool| &tool.behaviour) {
        Some(Behaviour::Reads | Behaviour::ReadsRepository) => ToolKind::Read,
        Some(Behaviour::Searches) => ToolKind::Search,
        Some(Behaviour::Edits | Behaviour::Stages) => ToolKind::Edit,
        Some(Behaviour::RunsCommand | Behaviour::RunsInBackground) => ToolKind::Execute,
        Some(Behaviour::Network) => ToolKind::Fetch,
        None if call.name.starts_with("search") => ToolKind::Search,
        _ => ToolKind::Other,
    }
}

/// The file that a call is about, if the call names one that can be in the workspace.
fn locations(call: &Call, workspace: &Path) -> Vec<ToolCallLocation> {
    let of_builtin = || Declaration::built_in(&call.name).and_then(|tool| tool.only_path(&call.args));
    let path = edited_file(call).or_else(of_builtin);
    path.map(|path| ToolCallLocation::new(workspace.join(path.trim_start_matches("./"))))
        .into_iter()
        .collect()
}

pub(super) fn status(item: &CallItem) -> ToolCallStatus {
    match item.stage {
        CallStage::Generating | CallStage::Generated => ToolCallStatus::Pending,
        CallStage::Calling => ToolCallStatus::InProgress,
        CallStage::Done => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    }
}
