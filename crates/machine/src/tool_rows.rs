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
    lines(&names.into_iter().map(|tool| row(tool, gate)).collect::<Vec<_>>())
}

/// The rows in columns.
pub fn lines(rows: &[ToolRow]) -> Vec<String> {
    let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default();
    rows.iter().map(|row| row.line(width)).collect()
}

impl ToolRow {
    fn line(&self, width: usize) -> String {
        let why = self.why.as_deref().unwrap_or("nothing is said of it, so the mode decides");
        format!("{:<width$} {:<10} {}", self.tool, self.policy, output::one_line(why))
    }
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
