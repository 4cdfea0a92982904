//! The tools with which a model reads a rule of the project and writes one.

use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree, TreeError};
use headstart_tool_gate::{Declaration, ours};
use headstart_toolbox::{Arguments, Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::front_matter::{self, RuleDraft};
use super::read::FOLDER;
use super::{FILE_BYTES, ProjectRules, without_fences};

/// The most letters of a rule's name.
const MAX_LETTERS: usize = 64;

/// `request_rule`, which reads a rule by its name.
pub fn request_rule_tool() -> Arc<dyn Tool> {
    Arc::new(RequestRule)
}

/// `create_rule`, which writes a new one. What is written there instructs models from then on, so it is only offered
/// if the user asked for it ([`ToolPolicies`](headstart_tool_gate::ToolPolicies)).
pub fn create_rule_tool() -> Arc<dyn Tool> {
    Arc::new(CreateRule)
}

/// The declarations of both for [`GateContext::tools`](headstart_tool_gate::GateContext::tools).
pub fn rule_declarations() -> Vec<Declaration> {
    vec![ours::REQUEST_RULE.clone(), ours::CREATE_RULE.clone()]
}

struct RequestRule;

#[async_trait]
impl Tool for RequestRule {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::REQUEST_RULE.name,
            "Gives a rule of the project by its name: the name of its file in .headstart/rules, without .md.",
            &json!({ "name": { "type": "string", "description": "The rule's name." } }),
            &["name"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::REQUEST_RULE, args, &["name"])?;
        let name = arguments.required_text("name")?;
        // Read through the view, so that the work depends on what it was told.
        let tree: Arc<dyn Tree> = Arc::clone(context.view) as _;
        let rules = ProjectRules::read(&tree, context.gate).await;
        let rule = rules.find_rule(name).map_err(ToolError::failed)?;
        Ok(without_fences(&rule.text).into())
    }
}

struct CreateRule;

#[async_trait]
impl Tool for CreateRule {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::CREATE_RULE.name,
            "Writes a rule for later work in this project, where its user wants one kept. With globs it counts for those files, with a description alone it is \
             read where that fits, else it counts for everything.",
            &json!({
                "name": { "type": "string", "description": "Small letters, digits and hyphens; the name of its file." },
                "rule": { "type": "string", "description": "What is to be kept to, in Markdown." },
                "description": { "type": "string", "description": "What it is about, in a line." },
                "globs": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The files that it counts for; a pattern without a slash fits at any depth."
                },
                "always": { "type": "boolean", "description": "Whether it counts for everything all the same." },
            }),
            &["name", "rule"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let known = ["name", "rule", "description", "globs", "always"];
        let arguments = Arguments::new(&ours::CREATE_RULE, args, &known)?;
        let name = arguments.required_text("name")?;
        if !is_slug(name) {
            let wanted = format!(
                "the argument name must be 1 to {MAX_LETTERS} small letters, digits and hyphens, not {name:?}"
            );
            return Err(arguments.invalid(&wanted));
        }
        let written = RuleDraft {
            description: arguments.text("description")?,
            globs: &globs(&arguments)?,
            always: arguments.flag("always")?,
            text: arguments.required_text("rule")?,
        };
        let file = front_matter::write(&written).map_err(|problem| arguments.invalid(&problem))?;
        if FILE_BYTES < file.len() as u64 {
            return Err(arguments.invalid(&format!("the rule has more than {FILE_BYTES} bytes; shorten it")));
        }
        let path = context.locate_for_write(&format!("{FOLDER}/{name}.md")).await?;
        match context.view.metadata(&path).await {
            Err(TreeError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => {
                let message = format!("there is a rule {name} already, in {path}; give another name");
                return Err(ToolError::failed(message));
            }
        }
        context.view.write(&path, file.into_bytes()).await?;
        Ok(format!("wrote the rule {name} to {path}; it counts from the next prompt on").into())
    }
}

fn is_slug(name: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    (1..=MAX_LETTERS).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-')
}

/// The patterns; models sometimes write a single one as a text.
fn globs(arguments: &Arguments<'_>) -> Result<Vec<String>, ToolError> {
    let wrong = || arguments.invalid("the argument globs must be a list of patterns");
    match arguments.value("globs") {
        None => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(Value::Array(list)) => {
            list.iter().map(|glob| glob.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
