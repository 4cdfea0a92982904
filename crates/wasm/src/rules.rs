use headstart_tool_gate::{AheadWrites, ApprovalMode, DenyRule, DenyRules, GateContext, GateError};
use serde::Deserialize;

use crate::failure::Failure;
use crate::input::join;

/// The rules of the gate, as JavaScript gives them.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rules {
    mode: ApprovalMode,
    workspace: Option<String>,
    deny: Vec<String>,
    /// If `false`, files whose names suggest a secret are treated like all others.
    #[serde(rename = "denyDefaults")]
    deny_defaults: Option<bool>,
    #[cfg(feature = "shell")]
    policies: Vec<headstart_tool_gate::PolicyRule>,
    /// If no command can run, there is nothing for these to decide.
    #[cfg(not(feature = "shell"))]
    #[serde(rename = "policies")]
    _policies: serde::de::IgnoredAny,
    /// The rules of the user for each tool, and those of the project.
    #[cfg(feature = "engine")]
    #[serde(rename = "toolPolicies")]
    tool_policies: crate::tool_rules::Table,
    #[cfg(feature = "engine")]
    #[serde(rename = "projectToolPolicies")]
    project_tool_policies: crate::tool_rules::Table,
}

/// The root of a workspace that has no place on a disk.
const WORKSPACE: &str = "/workspace";

impl Rules {
    /// The rules of an engine; `tools` are the names of the developer's own.
    #[cfg(feature = "engine")]
    pub(crate) fn for_engine(mut self, tools: &[String]) -> Result<GateContext, Failure> {
        let (user, project) =
            (std::mem::take(&mut self.tool_policies), std::mem::take(&mut self.project_tool_policies));
        let tool_policies = crate::tool_rules::policies(user, project, tools)?;
        Ok(GateContext { tool_policies, ..self.into_context("")? })
    }

    /// `name` is the name of the argument, for the paths of mistakes.
    pub(crate) fn into_context(self, name: &str) -> Result<GateContext, Failure> {
        let workspace = self.workspace.unwrap_or_else(|| WORKSPACE.to_owned());
        check_workspace(name, &workspace)?;
        let rules = self.deny.iter().cloned().map(DenyRule);
        let deny = DenyRules::new(rules).map_err(|error| gate_failure(name, &error, &self.deny))?;
        let deny = if self.deny_defaults == Some(false) { deny.with_secrets_open() } else { deny };
        #[cfg(feature = "shell")]
        let policies = headstart_tool_gate::Policies::new(self.policies, [])
            .map_err(|error| gate_failure(name, &error, &self.deny))?;
        Ok(GateContext {
            // This is set where an engine is made; the gate by itself has no work ahead.
            ahead_writes: AheadWrites::Boundary,
            // This is asked for each time; the gate by itself has no views.
            views: false,
            mode: self.mode,
            workspace,
            deny,
            tools: Vec::new(),
            #[cfg(feature = "shell")]
            policies,
            ..GateContext::default()
        })
    }
}

/// Refuses a root with a second spelling. The gate compares paths by their names, so such a root would let some of them
/// through.
fn check_workspace(name: &str, workspace: &str) -> Result<(), Failure> {
    let plain = workspace.strip_prefix('/').is_some_and(|below| {
        below.is_empty() || below.split('/').all(|name| !matches!(name, "" | "." | ".."))
    });
    if plain {
        return Ok(());
    }
    Err(Failure::input(
        join(name, "workspace"),
        format!(
            "must be an absolute path as bash spells it (/c/project for C:\\project), \
             without \".\" and \"..\", and is {workspace:?}"
        ),
    ))
}

fn gate_failure(name: &str, error: &GateError, deny: &[String]) -> Failure {
    let path = match error {
        GateError::DenyRule { pattern, .. } => {
            let index = deny.iter().position(|rule| rule == pattern);
            index.map_or_else(|| "deny".to_owned(), |index| format!("deny[{index}]"))
        }
        #[cfg(feature = "shell")]
        GateError::Policy { index, field, .. } => format!("policies[{index}].{field}"),
        _ => String::new(),
    };
    Failure::input(join(name, &path), error.to_string())
}
