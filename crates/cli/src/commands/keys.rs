use std::fmt::Write as _;

use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, PageLayout};
use headstart_machine::workspace;
use serde::Serialize;

/// The line for each action with `--json`.
#[derive(Serialize)]
struct KeyBindingLine<'a> {
    r#type: &'static str,
    action: &'a str,
    keys: Vec<String>,
    does: &'a str,
}

/// The columns from which on an action, its keys and what it does stand in one row.
const ONE_ROW: usize = 130;

/// Lists the keys in the prompt of a chat and their actions, with the user's configuration applied.
pub(crate) fn run(context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(None)?;
    let config = context.config(&Flags::default(), workspace.as_ref())?;
    let mut page = String::new();
    for (action, keys) in config.screen.keys.list() {
        let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
        if context.output.is_json() {
            output::print_json(&KeyBindingLine {
                r#type: "action",
                action: action.name,
                keys,
                does: action.words,
            })?;
        } else {
            let keys = if keys.is_empty() { "–".to_owned() } else { keys.join(", ") };
            match PageLayout::of(context).width.filter(|columns| *columns < ONE_ROW) {
                None => _ = writeln!(page, "{:<20} {keys:<38} {}", action.name, action.words),
                Some(columns) => {
                    let _ = writeln!(page, "{:<20} {keys}", action.name);
                    for row in output::wrapped(action.words, columns.saturating_sub(21).max(20)) {
                        let _ = writeln!(page, "{:21}{row}", "");
                    }
                }
            }
        }
    }
    output::print(&page)?;
    Ok(ExitStatus::Done)
}
