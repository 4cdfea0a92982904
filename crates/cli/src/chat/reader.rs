//! What was said and done, whole, on a screen of its own.

use headstart_agent::{CallItem, Item, View};
use headstart_forked_query::ToolOutcome;

use super::{Chat, calls, show};
use crate::conversation::words;
use crate::error::CliError;
use crate::terminal::{Passage, Style};

impl Chat {
    /// Opens the whole conversation, at its end.
    pub(super) fn read_conversation(&mut self) -> Result<(), CliError> {
        let passages = passages(&self.agent.view());
        if passages.is_empty() {
            return self.face.say("nothing was said yet", Style::Dim);
        }
        self.face.read("conversation", passages, true)
    }

    /// Opens what the work ahead would change, else the last call that printed something, whole.
    pub(super) fn read_newest(&mut self) -> Result<(), CliError> {
        let staged = self.agent.staged().map(|changes| changes.diff()).filter(|diff| !diff.is_empty());
        if let Some(diff) = staged {
            return self.face.read(
                "what the work ahead would change",
                vec![Passage::Diff(self.diff(&diff))],
                false,
            );
        }
        let view = self.agent.view();
        let last = view.items.iter().rev().find_map(|item| match &**item {
            Item::Call(call) => output(call).map(|_| call.clone()),
            _ => None,
        });
        match last {
            Some(call) => self.face.read("the last output", of_call(&call), false),
            None => self.face.say("there is neither work ahead nor an output to read", Style::Dim),
        }
    }
}

fn passages(view: &View) -> Vec<Passage> {
    let mut passages = Vec::new();
    for item in &view.items {
        let text = |text: String, style| vec![Passage::Text(text, style)];
        passages.extend(match &**item {
            Item::Prompt { text: prompt } => text(format!("\n> {prompt}"), Style::Strong),
            Item::Answer { text } => vec![Passage::Answer(text.clone())],
            Item::Call(call) => of_call(call),
            Item::Check(checked) => {
                let (line, style) = show::check_line(checked);
                text(line, style)
            }
            Item::Applied(applied) => {
                text(words::changes(&applied.changes, &applied.merged, applied.git.as_deref()), Style::Added)
            }
            Item::NotTaken { .. } => text("nothing of the work ahead was applied".to_owned(), Style::Dim),
            Item::Undone { text: undone } => text(undone.clone(), Style::Dim),
            Item::Compacted(compacted) => text(compacted.to_string(), Style::Dim),
            Item::Trouble { text: trouble } => text(trouble.clone(), Style::Removed),
            Item::End { ending } => {
                words::ending(ending).map_or_else(Vec::new, |why| text(why, Style::Removed))
            }
            _ => Vec::new(),
        });
    }
    passages
}

/// A call with all that it gave.
fn of_call(call: &CallItem) -> Vec<Passage> {
    let title = calls::ended(call, None).into_iter().next();
    let title = title.map(|(line, style)| Passage::Text(line, style));
    let output = output(call).map(|output| {
        let lines: Vec<_> = output.trim_end().lines().map(|line| format!("  {line}")).collect();
        Passage::Text(lines.join("\n"), Style::Dim)
    });
    title.into_iter().chain(output).collect()
}

fn output(call: &CallItem) -> Option<String> {
    let text = match call.outcome.as_ref()? {
        ToolOutcome::Error(message) => message.clone(),
        ToolOutcome::Output(output) => output
            .as_str()
            .map_or_else(|| serde_json::to_string_pretty(output).unwrap_or_default(), str::to_owned),
    };
    (!text.trim().is_empty()).then_some(text)
}
