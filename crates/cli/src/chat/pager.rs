//! The conversation and single results in full, on a separate screen.

use std::collections::VecDeque;

use headstart_agent::{CallItem, Item, View};
use headstart_forked_query::ToolOutcome;
use headstart_machine::conversation::words;
use headstart_machine::error::CliError;
use headstart_overlay_fs::ChangeSet;
use headstart_terminal::{Passage, Style};
use headstart_toolbox::ItemUri;

use super::{Chat, calls, show};

impl Chat {
    /// Opens the whole conversation at its end.
    pub(super) fn read_conversation(&mut self) -> Result<(), CliError> {
        let passages = passages(&self.agent.view(), &self.side_outputs);
        if passages.is_empty() {
            return self.display.say("nothing was said yet", Style::Dim);
        }
        self.display.read("conversation", passages, true)
    }

    /// Opens what the work ahead would change, or else the whole output of the last call that printed something.
    pub(super) fn read_newest(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        if let Some((files, git)) = self.changes_ahead() {
            return self.show_changes(
                "what the work ahead would change",
                &files,
                git.as_ref(),
                &ChangeSet::default(),
            );
        }
        let last = view.items.iter().enumerate().rev().find_map(|(place, item)| match &**item {
            Item::Call(call) => output(call).map(|_| (place, call.clone())),
            _ => None,
        });
        let side_outputs = self.side_outputs.all.back();
        match (last, side_outputs) {
            (Some((place, call)), side_outputs)
                if side_outputs.is_none_or(|output| output.items <= place) =>
            {
                self.display.read("the last output", call_passages(&call), false)
            }
            (_, Some(output)) => self.display.read("the last output", output.passages.clone(), false),
            _ => self.display.say("there is neither work ahead nor an output to read", Style::Dim),
        }
    }
}

/// The most places of one result that are listed.
const MAX_PLACES: usize = 12;

/// The most bytes that are kept of what is no item of the conversation.
const MAX_SIDE_BYTES: usize = 4 * 1024 * 1024;

/// What was shown without being an item of the conversation: what edits changed, and what commands of the user's own
/// printed.
#[derive(Debug, Default)]
pub(super) struct SideOutputs {
    all: VecDeque<SideOutput>,
}

/// Something that was shown behind this many items.
#[derive(Debug)]
pub(super) struct SideOutput {
    pub(super) items: usize,
    pub(super) passages: Vec<Passage>,
    /// The size in bytes.
    pub(super) bytes: usize,
    /// Whether the item before it names the file that was changed.
    pub(super) is_named: bool,
}

impl SideOutputs {
    /// Keeps an entry. The oldest ones are dropped to make room for it.
    pub(super) fn push(&mut self, output: SideOutput) {
        self.all.push_back(output);
        while MAX_SIDE_BYTES < self.all.iter().map(|output| output.bytes).sum() && 1 < self.all.len() {
            self.all.pop_front();
        }
    }

    /// The passages that were shown behind this many items.
    fn after_item(&self, items: usize) -> impl Iterator<Item = Passage> + '_ {
        let here = self.all.iter().filter(move |output| output.items == items);
        here.flat_map(|output| {
            output.passages.iter().cloned().map(|passage| match passage {
                Passage::Diff(diff) if output.is_named => Passage::Diff(diff.unnamed()),
                passage => passage,
            })
        })
    }
}

/// A command of the user's own, by the line that it was shown with, and all of its output.
pub(super) fn own_command_passages(title: &str, printed: &str) -> Vec<Passage> {
    let rows: Vec<_> = printed.trim_end().lines().map(|line| format!("  {line}")).collect();
    let title = Passage::Text(title.to_owned(), Style::Accent);
    let printed = (!rows.is_empty()).then(|| Passage::Text(rows.join("\n"), Style::Plain));
    std::iter::once(title).chain(printed).collect()
}

fn passages(view: &View, side_outputs: &SideOutputs) -> Vec<Passage> {
    let mut passages: Vec<_> = side_outputs.after_item(0).collect();
    for (place, item) in view.items.iter().enumerate() {
        let text = |text: String, style| vec![Passage::Text(text, style)];
        passages.extend(match &**item {
            Item::Prompt { text: prompt } => text(format!("\n> {prompt}"), Style::Strong),
            Item::Answer { text } => vec![Passage::Answer(text.clone())],
            Item::Call(call) => call_passages(call),
            Item::Check(checked) => {
                let (line, style) = show::check_line(checked);
                text(line, style)
            }
            Item::Applied(applied) => {
                text(words::changes(&applied.changes, &applied.merged, applied.git.as_deref()), Style::Added)
            }
            Item::NotApplied { .. } => text("nothing of the work ahead was applied".to_owned(), Style::Dim),
            Item::Undone { text: undone } => text(undone.clone(), Style::Dim),
            Item::Compacted(compacted) => text(compacted.to_string(), Style::Dim),
            Item::Trouble { text: trouble } => text(trouble.clone(), Style::Removed),
            Item::End { ending } => {
                words::ending(ending).map_or_else(Vec::new, |why| text(why, Style::Removed))
            }
            _ => Vec::new(),
        });
        passages.extend(side_outputs.after_item(place + 1));
    }
    passages
}

/// A call with its whole result.
fn call_passages(call: &CallItem) -> Vec<Passage> {
    let title = calls::finished_lines(call, Vec::new(), "").into_iter().next();
    let title = title.map(|(line, style)| Passage::Text(line, style));
    let output = output(call).map(|output| {
        let lines: Vec<_> = output.trim_end().lines().map(|line| format!("  {line}")).collect();
        Passage::Text(lines.join("\n"), Style::Dim)
    });
    title.into_iter().chain(rest_of_command(call)).chain(places(call)).chain(output).collect()
}

/// The lines of a command behind the first one, which alone is shown with the call.
fn rest_of_command(call: &CallItem) -> Option<Passage> {
    let lines: Vec<_> = calls::folded_lines(&call.call).iter().map(|line| format!("    {line}")).collect();
    (!lines.is_empty()).then(|| Passage::Text(lines.join("\n"), Style::Accent))
}

/// The places in a result, if they say more than the call's own argument.
fn places(call: &CallItem) -> Option<Passage> {
    let place = |uri: &ItemUri| match uri {
        ItemUri::File { path, lines: Some((first, last)) } if first != last => {
            format!("{path}:{first}-{last}")
        }
        ItemUri::File { path, lines: Some((first, _)) } => format!("{path}:{first}"),
        ItemUri::File { path, lines: None } => path.to_string(),
        ItemUri::Url(address) => address.clone(),
    };
    let listed = call.items.iter().filter(|item| !item.hidden);
    let places: Vec<_> = listed.filter_map(|item| item.uri.as_ref()).map(place).collect();
    let more = places.len().saturating_sub(MAX_PLACES);
    let more = if 0 < more { format!(" and {more} more") } else { String::new() };
    let shown = places.iter().take(MAX_PLACES).map(String::as_str).collect::<Vec<_>>().join("  ");
    (1 < places.len()).then(|| Passage::Text(format!("  {shown}{more}"), Style::Accent))
}

/// What came of a call. Of one that has no result there is what its command has printed last.
fn output(call: &CallItem) -> Option<String> {
    let text = match call.outcome.as_ref() {
        None => call.printed.clone()?,
        Some(ToolOutcome::Error(message)) => message.clone(),
        Some(ToolOutcome::Output(output)) => output
            .as_str()
            .map_or_else(|| serde_json::to_string_pretty(output).unwrap_or_default(), str::to_owned),
    };
    (!text.trim().is_empty()).then_some(text)
}
