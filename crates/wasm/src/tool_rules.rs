//! The rules of users for each tool, as JavaScript gives them.

use std::collections::BTreeMap;

use headstart_tool_gate::{
    Declaration, PolicyOrigin, ToolPolicies, ToolPolicy, ToolPolicyError, ToolRule, ToolTable, ours,
};
use serde_json::Value;

use crate::failure::{Failure, json};
use crate::input::{join, parse};

/// A table as JavaScript gives it: tools by their names, `default`, and the list `rule`.
pub(crate) type Table = BTreeMap<String, Value>;

/// Tools that an engine may have besides those of the gate and of its developer. They are known so that one table can
/// serve every program.
static OTHER_TOOLS: [&Declaration; 4] =
    [&ours::CODEBASE, &ours::REPO_MAP, &ours::FETCH_URL, &ours::SEARCH_WEB];

/// The declarations of the tools that are not the gate's own and that every engine may have.
pub(crate) fn declarations() -> Vec<Declaration> {
    let more = headstart_toolbox::more_declarations().into_iter();
    let all = more.chain(headstart_context::rule_declarations());
    all.chain([headstart_speculation::task_declaration()]).collect()
}

/// Both tables, checked; `tools` are the names of the developer's own tools.
pub(crate) fn policies(user: Table, project: Table, tools: &[String]) -> Result<ToolPolicies, Failure> {
    let declared = declarations();
    let known = declared.iter().chain(OTHER_TOOLS).map(|tool| &*tool.name);
    let known: Vec<_> = known.chain(tools.iter().map(String::as_str)).collect();
    let tables = (table(USER, user)?, table(PROJECT, project)?);
    ToolPolicies::new(tables.0, tables.1, &known).map_err(|error| failure(&error))
}

const USER: &str = "toolPolicies";
const PROJECT: &str = "projectToolPolicies";

fn table(name: &str, given: Table) -> Result<ToolTable, Failure> {
    let mut table = ToolTable::default();
    for (key, value) in given {
        let path = join(name, &key);
        if key == "rule" {
            table.rules = parse::<Vec<ToolRule>>(&path, &json(&value))?;
            continue;
        }
        let policy: ToolPolicy = parse(&path, &json(&value))?;
        if key == "default" {
            table.default = Some(policy);
        } else {
            table.tools.push((key, policy));
        }
    }
    Ok(table)
}

/// The failure for a mistake in a table. `rule 2.when` is `rule[1].when` in JavaScript.
fn failure(error: &ToolPolicyError) -> Failure {
    let of_rule = || {
        let (number, field) = error.place.strip_prefix("rule ")?.split_once('.')?;
        Some(format!("rule[{}].{field}", number.parse::<usize>().ok()?.checked_sub(1)?))
    };
    let name = if error.origin == PolicyOrigin::User { USER } else { PROJECT };
    let place = of_rule().unwrap_or_else(|| error.place.clone());
    Failure::input(join(name, &place), error.problem.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_entry_is_named() {
        let cases = [
            (r#"{"reed_file":"ask"}"#, "toolPolicies.reed_file", "the nearest is read_file"),
            (r#"{"shell":"yes"}"#, "toolPolicies.shell", "must be"),
            (r#"{"shell":{}}"#, "toolPolicies.shell", "must be"),
            (r#"{"default":1}"#, "toolPolicies.default", "must be"),
            (r#"{"rule":{}}"#, "toolPolicies.rule", "must be an array"),
            (
                r#"{"rule":[{"tool":"shell","policy":"ask"},{"tool":"x","policy":"ask"}]}"#,
                "toolPolicies.rule[1].tool",
                "no tool",
            ),
            (
                r#"{"rule":[{"tool":"shell","when":{"command":"a; b"},"policy":"automatic"}]}"#,
                "toolPolicies.rule[0].when",
                "simple command",
            ),
            (
                r#"{"rule":[{"tool":"shell","wen":{},"policy":"ask"}]}"#,
                "toolPolicies.rule[0].wen",
                "known are",
            ),
            (r#"{"rule":[{"tool":"shell"}]}"#, "toolPolicies.rule[0].policy", "is missing"),
        ];
        for (given, path, words) in cases {
            let failure = policies(parse("", given).unwrap(), Table::new(), &[]).unwrap_err();
            assert_eq!(failure.path.as_deref(), Some(path), "{given}: {failure:?}");
            assert!(failure.message.contains(words), "{given}: {failure:?}");
        }
    }

    #[test]
    fn a_project_only_tightens() {
        let of_project =
            |given: &str| policies(Table::new(), parse("", given).unwrap(), &["deploy".to_owned()]);
        for given in [
            r#"{"deploy":"automatic"}"#,
            r#"{"default":"automatic"}"#,
            r#"{"rule":[{"tool":"shell","policy":"automatic"}]}"#,
        ] {
            let failure = of_project(given).unwrap_err();
            assert!(failure.path.unwrap().starts_with("projectToolPolicies."), "{given}");
        }
        assert!(of_project(r#"{"deploy":"exclude"}"#).unwrap().excludes("deploy"));
    }

    #[test]
    fn a_tool_that_writes_rules_is_there_where_its_user_names_it() {
        let of_user = |given: &str| policies(parse("", given).unwrap(), Table::new(), &[]).unwrap();
        assert!(
            of_user("{}").excludes("create_rule")
                && of_user(r#"{"default":"automatic"}"#).excludes("create_rule")
        );
        assert!(!of_user(r#"{"create_rule":"ask"}"#).excludes("create_rule"));
    }
}
