//! What the files say about tools: `[tools]`.

use std::collections::BTreeMap;

use headstart_tool_gate::{PolicyOrigin, ToolPolicies, ToolPolicy, ToolPolicyError, ToolRule, ToolTable};
use toml::Spanned;

use super::source::Source;
use crate::declarations::declarations;
use crate::error::CliError;

/// The table as it is written in a file.
pub(super) type ToolsTable = BTreeMap<String, Spanned<toml::Value>>;

/// Checks the user's table.
pub(super) fn of_user(
    table: &ToolsTable,
    source: &Source,
    others: &[&str],
) -> Result<ToolPolicies, CliError> {
    checked(read(table, source)?, ToolTable::default(), others).map_err(|error| refuse(table, source, &error))
}

/// Checks both tables together.
pub(super) fn with_projects(
    users: &ToolPolicies,
    table: &ToolsTable,
    source: &Source,
    others: &[&str],
) -> Result<ToolPolicies, CliError> {
    let of_user = users.of(PolicyOrigin::User).clone();
    checked(of_user, read(table, source)?, others).map_err(|error| refuse(table, source, &error))
}

/// Checks both tables. `others` contains the names of tools that the files themselves define.
fn checked(user: ToolTable, project: ToolTable, others: &[&str]) -> Result<ToolPolicies, ToolPolicyError> {
    let declared = declarations();
    let known: Vec<_> = declared.iter().map(|tool| &*tool.name).chain(others.iter().copied()).collect();
    ToolPolicies::new(user, project, &known)
}

fn read(table: &ToolsTable, source: &Source) -> Result<ToolTable, CliError> {
    let mut read = ToolTable::default();
    for (key, value) in table {
        let line = source.line(&value.span());
        let field = format!("tools.{key}");
        if key == "rule" {
            let rules = value.get_ref().clone().try_into::<Vec<ToolRule>>();
            read.rules = rules.map_err(|error| source.refuse(line, &field, source.problem(&error)))?;
            continue;
        }
        let policy = value.get_ref().as_str().and_then(policy).ok_or_else(|| {
            let value = value.get_ref();
            source.refuse(line, &field, format!("{value} is none of automatic, ask and exclude"))
        })?;
        if key == "default" {
            read.default = Some(policy);
        } else {
            read.tools.push((key.clone(), policy));
        }
    }
    Ok(read)
}

fn policy(name: &str) -> Option<ToolPolicy> {
    [ToolPolicy::Automatic, ToolPolicy::Ask, ToolPolicy::Exclude]
        .into_iter()
        .find(|policy| policy.as_str() == name)
}

fn refuse(table: &ToolsTable, source: &Source, error: &ToolPolicyError) -> CliError {
    let line = table.get(&error.key).map_or(1, |value| source.line(&value.span()));
    source.refuse(line, &format!("tools.{}", error.place), &error.problem)
}
