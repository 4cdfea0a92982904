//! What the gate does with calls of each tool, for people.

use headstart_tool_gate::{ApprovalMode, Behaviour, GateContext, ToolDecision};
use serde::Serialize;

use crate::conversation::mode_name;
use crate::{output, tool_servers};

/// A tool, and what the gate does with its calls.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRow {
    tool: String,
    /// `automatic`, `ask` or `exclude`; `mode` if the configuration says nothing about the tool.
    policy: &'static str,
    why: Option<String>,
    /// What the mode in force says of its calls, if the mode decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_mode: Option<&'static str>,
}

/// The tools of a conversation with what the gate does with their calls, one line each.
pub fn tool_lines(names: impl IntoIterator<Item = String>, gate: &GateContext) -> Vec<String> {
    lines(&names.into_iter().map(|tool| row(tool, gate)).collect::<Vec<_>>(), gate.mode, None)
}

/// The mode, and the rows in columns, wrapped where a screen has no more than so many.
pub fn lines(rows: &[ToolRow], mode: ApprovalMode, columns: Option<usize>) -> Vec<String> {
    let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default();
    let margin = width + 12;
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(margin).max(20));
    let wrapped = |row: &ToolRow| {
        let why = [row.by_mode, row.why.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let mut parts = output::wrapped(&output::one_line(&why), room).into_iter();
        let first = parts.next().unwrap_or_default();
        let head = format!("{:<width$} {:<10} {first}", row.tool, row.policy);
        std::iter::once(head).chain(parts.map(|part| format!("{:margin$}{part}", ""))).collect::<Vec<_>>()
    };
    let head = output::wrapped(&about(mode), columns.unwrap_or(usize::MAX));
    head.into_iter().chain(rows.iter().flat_map(wrapped)).collect()
}

/// What the word "mode" in the rows stands for.
fn about(mode: ApprovalMode) -> String {
    let views = match mode {
        ApprovalMode::Default => {
            "; in a chat with views, edits and commands that write are staged, and asked about once when the turn ends"
        }
        ApprovalMode::AutoEdit => {
            "; in a chat with views, commands that write run in them, and are written when the turn ends"
        }
        _ => "",
    };
    format!("where the mode decides, it is {}{views}", mode_name(mode))
}

/// What this mode says of a call of a tool that does this.
fn by_mode(behaviour: &Behaviour, mode: ApprovalMode) -> &'static str {
    match (mode, behaviour) {
        (ApprovalMode::Chat, _) => "not offered",
        (
            _,
            Behaviour::Reads | Behaviour::Searches | Behaviour::ReadsRepository | Behaviour::ServesSession,
        )
        | (ApprovalMode::AutoEdit, Behaviour::Edits | Behaviour::Stages | Behaviour::StagesWith(_))
        | (ApprovalMode::Yolo, _) => "runs",
        (_, Behaviour::RunsSubTask) => "each of its calls is judged by itself",
        (ApprovalMode::Plan, Behaviour::RunsCommand) => "runs if it only reads, else refused",
        (ApprovalMode::Plan, _) => "refused",
        (_, Behaviour::RunsCommand) => "runs if it only reads, else asks",
        _ => "asks",
    }
}

pub fn row(tool: String, gate: &GateContext) -> ToolRow {
    let rules = match gate.tool_policies.rules_about(&tool) {
        0 => None,
        1 => Some("a rule is about some of its calls".to_owned()),
        more => Some(format!("{more} rules are about some of its calls")),
    };
    let with_rules = |why: String| rules.iter().fold(why, |why, rules| format!("{why}; {rules}"));
    if let Some(ToolDecision { policy, why, .. }) = gate.tool_policies.of_tool(&tool) {
        return ToolRow { tool, policy: policy.as_str(), why: Some(with_rules(why)), by_mode: None };
    }
    let declaration = gate.declaration(&tool);
    if let Some(what) = tool_servers::what_it_is(declaration) {
        return ToolRow { tool, policy: "mode", why: Some(with_rules(what.to_owned())), by_mode: None };
    }
    let by_mode = declaration.map_or("asks", |declared| by_mode(&declared.behaviour, gate.mode));
    ToolRow { tool, policy: "mode", why: rules, by_mode: Some(by_mode) }
}
