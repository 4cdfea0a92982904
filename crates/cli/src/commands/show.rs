use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome};
use headstart_git_ahead::{GitChange, RefChange};
use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, ColorMode};
use headstart_machine::store::Record;
use headstart_overlay_fs::{ChangeSummary, LeftOut};
use headstart_speculation::{Cost, Ending, FailedCommand, Finished};
use headstart_tool_gate::ApprovalMode;
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::IdArgs;

/// The most lines of a long text that are shown; `--json` prints all.
const LINES: usize = 12;

/// The public part of a record: everything but the contents of files.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "speculation", rename_all = "camelCase")]
struct SpeculationView<'a> {
    id: &'a str,
    status: &'static str,
    created_at: u64,
    workspace: &'a str,
    mode: ApprovalMode,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fast_model: Option<&'a str>,
    prompt: &'a str,
    #[serde(flatten)]
    result: Option<Result<'a>>,
}

/// The result of the work.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Result<'a> {
    ending: &'a Ending,
    transcript: &'a [Message],
    /// What the model said after the last call that ran.
    rest: &'a [Part],
    pending_call: Option<&'a ToolCall>,
    changes: Vec<ChangeSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<GitSummary<'a>>,
    /// What it wrote or removed and an accept does not bring.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_kept: &'a [LeftOut],
    /// The commands that ended with an error.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed: &'a [FailedCommand],
    next: Option<&'a str>,
    cost: Cost,
}

/// What the work did to the repository.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GitSummary<'a> {
    summary: String,
    refs: &'a [RefChange],
    /// The number of paths that git's index has staged differently.
    staged: usize,
}

impl<'a> GitSummary<'a> {
    pub(super) fn of(change: &'a GitChange) -> Self {
        Self { summary: change.summary(), refs: &change.refs, staged: change.index.entries.len() }
    }
}

/// Shows one speculation.
pub(crate) fn run(args: &IdArgs, context: &Context) -> std::result::Result<ExitStatus, CliError> {
    let store = context.store()?;
    let record = store.read(&scope::find(&store, args, Purpose::Read)?)?;
    let status = record.status_word(store.is_alive(&record)?);
    if context.output.is_json() {
        output::print_json(&speculation_view(&record, status))?;
    } else {
        output::print(&page(&record, status, context.output.style()))?;
    }
    Ok(ExitStatus::Done)
}

fn speculation_view<'a>(record: &'a Record, status: &'static str) -> SpeculationView<'a> {
    SpeculationView {
        id: record.id.as_str(),
        status,
        created_at: record.created_at,
        workspace: &record.workspace,
        mode: record.mode,
        model: &record.model,
        fast_model: record.fast_model.as_deref(),
        prompt: &record.prompt,
        result: record.finished.as_ref().map(|finished| Result {
            ending: &finished.ending,
            transcript: &finished.transcript.messages,
            rest: &finished.transcript.rest,
            pending_call: finished.pending_call(),
            changes: finished.changes.summary(),
            git: finished.git.as_ref().map(GitSummary::of),
            not_kept: &finished.not_kept,
            failed: &finished.failed,
            next: finished.next.as_deref(),
            cost: finished.cost,
        }),
    }
}

pub(super) fn page(record: &Record, status: &str, style: ColorMode) -> String {
    let age = output::age(clock::unix_ms().saturating_sub(record.created_at));
    let mut fields = vec![
        ("id", record.id.to_string()),
        ("status", status.to_owned()),
        ("prompt", record.prompt.clone()),
        ("workspace", record.workspace.clone()),
        ("model", record.model.clone()),
    ];
    fields.extend(
        record.fast_model.iter().map(|fast| ("done by", format!("{fast}, which shares no cache with it"))),
    );
    fields.push(("age", age));
    fields.extend(record.finished.iter().flat_map(|finished| summary(finished, record.fast_model.is_none())));
    let mut lines: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("{}  {}", style.dim(&format!("{name:<9}")), output::one_line(&value)))
        .collect();
    if let Some(finished) = &record.finished {
        lines.extend([String::new(), style.bold("Transcript")]);
        lines.extend(transcript(finished, style));
        lines.extend([String::new(), style.bold("Changes")]);
        lines.extend(changes(finished));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The result. Cached tokens are only shown if the conversation's model did the work, because those of another model
/// are not tokens of the conversation.
fn summary(finished: &Finished, shares_cache: bool) -> Vec<(&'static str, String)> {
    let cost = finished.cost;
    let mut fields = vec![("ended", ending(&finished.ending))];
    let cached =
        if shares_cache { format!(" ({} cached)", cost.tokens.cached_input_tokens) } else { String::new() };
    fields.push((
        "cost",
        format!(
            "{} in {} ms, {}{cached} tokens read, {} written, {}",
            counted(u64::from(cost.turns), "turn"),
            cost.work_ms,
            cost.tokens.input_tokens,
            cost.tokens.output_tokens,
            counted(u64::from(cost.tool_calls), "tool call"),
        ),
    ));
    let lines = finished.git.iter().flat_map(GitChange::lines);
    fields.extend(lines.map(|line| ("git", line)));
    fields.extend(finished.next.clone().map(|next| ("next", next)));
    fields
}

pub(super) fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Completed => "the model said its last word".to_owned(),
        Ending::Boundary { verdict } => format!("the next call needs your consent: {}", verdict.detail),
        Ending::Exhausted { limit } => format!("the limit of {} was reached", output::limit_name(*limit)),
        Ending::Failed { error, .. } => format!("an error: {error}"),
        Ending::Aborted => "it was given up".to_owned(),
        other => format!("{:?}", other.status()).to_lowercase(),
    }
}

fn transcript(finished: &Finished, style: ColorMode) -> Vec<String> {
    let parts = finished
        .transcript
        .messages
        .iter()
        .flat_map(|message| message.parts.iter().map(|part| (message.role, part)));
    let mut lines: Vec<String> = parts.flat_map(|(role, part)| part_lines(role, part, style)).collect();
    lines.extend(
        finished
            .pending_call()
            .map(|call| format!("  {} {}", style.cyan("?"), output::call_on_one_line(call))),
    );
    lines
}

fn part_lines(role: Role, part: &Part, style: ColorMode) -> Vec<String> {
    match part {
        Part::Text { text } if role == Role::User => block(&style.bold(">"), text),
        Part::Text { text } => block(" ", text),
        Part::ToolCall(call) => vec![format!("  {} {}", style.cyan("*"), output::call_on_one_line(call))],
        Part::ToolResult(result) => match &result.outcome {
            ToolOutcome::Output(serde_json::Value::String(text)) => block(&style.dim("|"), text),
            ToolOutcome::Output(value) => block(&style.dim("|"), &value.to_string()),
            ToolOutcome::Error(error) => block(&style.red("!"), error),
        },
        Part::Image(image) => vec![format!("  {} {}", style.cyan("+"), image.media_type.as_str())],
        // This part is only for the model.
        Part::Opaque(_) => Vec::new(),
    }
}

/// Text after a mark, limited to a number of lines.
fn block(mark: &str, text: &str) -> Vec<String> {
    let text = output::printable(text.trim_end());
    let mut lines: Vec<_> = text.lines().take(LINES).map(|line| format!("  {mark} {line}")).collect();
    let more = text.lines().count() - lines.len();
    if 0 < more {
        lines.push(format!("  {mark} … {}", counted(more as u64, "more line")));
    }
    lines
}

fn changes(finished: &Finished) -> Vec<String> {
    let rows = finished.changes.summary();
    let mut lines: Vec<_> = rows.iter().map(|row| format!("  {}", output::change_line(row))).collect();
    if lines.is_empty() {
        lines.push("  none".to_owned());
    }
    lines
        .extend(finished.failures().iter().map(|failure| format!("  failed: {}", output::one_line(failure))));
    let keeps = (!finished.keepable.is_empty()).then_some("accept --keep-ignored keeps them");
    lines.extend(output::not_kept_offer(&finished.not_kept, keeps).map(|line| format!("  {line}")));
    lines
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
