use std::path::Path;

use headstart_tool_gate::{GateContext, ToolDecision};
use serde::Serialize;

use crate::args::Tools;
use crate::config::Flags;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::output;
use crate::{setup, tool_servers, workspace};

/// A tool, and what becomes of its calls.
#[derive(Debug, Serialize)]
struct Row {
    tool: String,
    /// `automatic`, `ask` or `exclude`; where nothing is said of it, `mode`.
    policy: &'static str,
    why: Option<String>,
}

/// Lists the tools that the model of a chat is offered here, with what the configuration says of each.
pub(crate) fn run(args: &Tools, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&Flags::default(), Path::new(&workspace))?;
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let toolbox = setup::offered_toolbox(&config, &workspace, &context.environment, state.as_deref())?;
    let gate = config.gate_context(workspace)?;
    let names = toolbox.schemas().into_iter().map(|schema| schema.name);
    let rows: Vec<_> = names.map(|tool| row(tool, &gate)).collect();
    if context.output.is_json() {
        rows.iter().try_for_each(output::print_json)?;
    } else {
        let line = |row: &Row| row.line(12) + "\n";
        output::print(&rows.iter().map(line).collect::<Vec<_>>().concat())?;
    }
    Ok(ExitStatus::Done)
}

/// The tools of a conversation with what becomes of their calls, a line each.
pub(crate) fn lines(names: impl IntoIterator<Item = String>, gate: &GateContext) -> Vec<String> {
    let rows: Vec<_> = names.into_iter().map(|tool| row(tool, gate)).collect();
    let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default();
    rows.iter().map(|row| row.line(width)).collect()
}

impl Row {
    fn line(&self, width: usize) -> String {
        let why = self.why.as_deref().unwrap_or("nothing is said of it, so the mode decides");
        format!("{:<width$} {:<10} {}", self.tool, self.policy, output::one_line(why))
    }
}

fn row(tool: String, gate: &GateContext) -> Row {
    let rules = gate.tool_policies.rules_about(&tool);
    let and_rules = match rules {
        0 => String::new(),
        1 => "; a rule is about some of its calls".to_owned(),
        more => format!("; {more} rules are about some of its calls"),
    };
    if let Some(ToolDecision { policy, why, .. }) = gate.tool_policies.of_tool(&tool) {
        return Row { tool, policy: policy.as_str(), why: Some(format!("{why}{and_rules}")) };
    }
    if let Some(what) = tool_servers::what_it_is(gate.declaration(&tool)) {
        return Row { tool, policy: "mode", why: Some(format!("{what}{and_rules}")) };
    }
    let why = format!("nothing is said of all its calls, so the mode decides{and_rules}");
    Row { tool, policy: "mode", why: (0 < rules).then_some(why) }
}
