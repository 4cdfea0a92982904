//! What the gate does with calls of each tool, for people.

use headstart_tool_gate::{GateContext, ToolDecision};
use serde::Serialize;

use crate::{output, tool_servers};

/// A tool, and what the gate does with its calls.
#[derive(Debug, Serialize)]
pub struct ToolRow {
    tool: String,
    /// `automatic`, `ask` or `exclude`; `mode` if the configuration says nothing about the tool.
    policy: &'static str,
    why: Option<String>,
}

/// The tools of a conversation with what the gate does with their calls, one line each.
pub fn tool_lines(names: impl IntoIterator<Item = String>, gate: &GateContext) -> Vec<String> {
    lines(&names.into_iter().map(|tool| row(tool, gate)).collect::<Vec<_>>(), None)
}

/// The rows in columns, wrapped where a screen has no more than so many.
pub fn lines(rows: &[ToolRow], columns: Option<usize>) -> Vec<String> {
    let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default();
    let margin = width + 12;
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(margin).max(20));
    let wrapped = |row: &ToolRow| {
        let why = row.why.as_deref().unwrap_or("nothing is said of it, so the mode decides");
        let mut parts = output::wrapped(&output::one_line(why), room).into_iter();
        let first = parts.next().unwrap_or_default();
        let head = format!("{:<width$} {:<10} {first}", row.tool, row.policy);
        std::iter::once(head).chain(parts.map(|part| format!("{:margin$}{part}", ""))).collect::<Vec<_>>()
    };
    rows.iter().flat_map(wrapped).collect()
}

pub fn row(tool: String, gate: &GateContext) -> ToolRow {
    let rules = gate.tool_policies.rules_about(&tool);
    let and_rules = match rules {
        0 => String::new(),
        1 => "; a rule is about some of its calls".to_owned(),
        more => format!("; {more} rules are about some of its calls"),
    };
    if let Some(ToolDecision { policy, why, .. }) = gate.tool_policies.of_tool(&tool) {
        return ToolRow { tool, policy: policy.as_str(), why: Some(format!("{why}{and_rules}")) };
    }
    if let Some(what) = tool_servers::what_it_is(gate.declaration(&tool)) {
        return ToolRow { tool, policy: "mode", why: Some(format!("{what}{and_rules}")) };
    }
    let why = format!("nothing is said of all its calls, so the mode decides{and_rules}");
    ToolRow { tool, policy: "mode", why: (0 < rules).then_some(why) }
}
