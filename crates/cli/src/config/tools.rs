//! What the files say of tools: `[tools]`.

use std::collections::BTreeMap;

use headstart_tool_gate::{
    Declaration, PolicyOrigin, ToolPolicies, ToolPolicy, ToolPolicyError, ToolRule, ToolTable,
};
use toml::Spanned;

use super::file::File;
use crate::error::CliError;

/// The table as it stands.
pub(super) type ToolsTable = BTreeMap<String, Spanned<toml::Value>>;

/// What the gate is told of the tools that are not its own.
pub(super) fn declarations() -> Vec<Declaration> {
    [
        headstart_toolbox::more_declarations(),
        headstart_context::rule_declarations(),
        crate::index::declarations(),
        headstart_code_intel::declarations(),
        crate::web::declarations(),
        vec![headstart_speculation::task_declaration()],
    ]
    .concat()
}

/// The user's table.
pub(super) fn of_user(file: &File, others: &[&str]) -> Result<ToolPolicies, CliError> {
    checked(table(file)?, ToolTable::default(), others).map_err(|error| refuse(file, &error))
}

/// Both tables.
pub(super) fn with_projects(
    users: &ToolPolicies,
    file: &File,
    others: &[&str],
) -> Result<ToolPolicies, CliError> {
    let of_user = users.of(PolicyOrigin::User).clone();
    checked(of_user, table(file)?, others).map_err(|error| refuse(file, &error))
}

/// `others`: the names of tools that the files themselves name.
fn checked(user: ToolTable, project: ToolTable, others: &[&str]) -> Result<ToolPolicies, ToolPolicyError> {
    let declared = declarations();
    let known: Vec<_> = declared.iter().map(|tool| &*tool.name).chain(others.iter().copied()).collect();
    ToolPolicies::new(user, project, &known)
}

fn table(file: &File) -> Result<ToolTable, CliError> {
    let mut table = ToolTable::default();
    for (key, value) in file.tools() {
        let line = file.line(&value.span());
        let field = format!("tools.{key}");
        if key == "rule" {
            let rules = value.get_ref().clone().try_into::<Vec<ToolRule>>();
            table.rules = rules.map_err(|error| file.refuse(line, &field, error.message()))?;
            continue;
        }
        let policy = value.get_ref().as_str().and_then(policy).ok_or_else(|| {
            file.refuse(line, &field, format!("{} is none of automatic, ask and exclude", value.get_ref()))
        })?;
        if key == "default" {
            table.default = Some(policy);
        } else {
            table.tools.push((key.clone(), policy));
        }
    }
    Ok(table)
}

fn policy(name: &str) -> Option<ToolPolicy> {
    [ToolPolicy::Automatic, ToolPolicy::Ask, ToolPolicy::Exclude]
        .into_iter()
        .find(|policy| policy.as_str() == name)
}

fn refuse(file: &File, error: &ToolPolicyError) -> CliError {
    let line = file.tools().get(&error.key).map_or(1, |value| file.line(&value.span()));
    file.refuse(line, &format!("tools.{}", error.place), &error.problem)
}
