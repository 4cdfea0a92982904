//! The system instruction of a conversation.

use std::sync::Arc;

use headstart_context::{ProjectRules, SessionEnvironment, file_overview, system_text as text_of};
use headstart_overlay_fs::Tree;
use headstart_speculation::Host;
use js_sys::Promise;
use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::engine::engine;
use crate::failure::Failure;
use crate::input::parse;
use crate::port::HostPort;
use crate::promise::promise;
use crate::prompt_attachments::report_rules;
use crate::tree::TreeHandle;

/// Where a conversation works, as its host found out; empty fields are left out.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct SurroundingsFields {
    folder: String,
    system: String,
    date: String,
    /// What `git status --porcelain=v1 --branch` prints.
    git_status: String,
}

/// The system instruction of a conversation with these options; all arguments are JSON. It says what the agent is, how
/// its tools are used, which rules the project has (if they are read), and where the agent works.
#[wasm_bindgen(js_name = systemText)]
pub fn system_text(
    options: &str,
    rules: &str,
    surroundings: &str,
    reads_rules: bool,
    port: HostPort,
    tree: TreeHandle,
) -> Result<Promise, Failure> {
    let SurroundingsFields { folder, system, date, git_status } = parse("surroundings", surroundings)?;
    let (engine, host) = engine(options, rules, port, tree)?;
    Ok(promise(Box::pin(async move {
        let tree = Arc::clone(&engine.workspace) as Arc<dyn Tree>;
        let gate = host.gate_context();
        let read = if reads_rules { Some(ProjectRules::read(&tree, &gate).await) } else { None };
        if let Some(read) = &read {
            report_rules(&host.callbacks, read.rules(), Vec::new(), read.problems());
        }
        let git = SessionEnvironment::git_of(&git_status, &gate.deny);
        let surroundings =
            SessionEnvironment { folder, system, date, git, files: file_overview(&tree, &gate).await };
        Ok(text_of(&engine.toolbox.schemas(), read.as_ref(), &surroundings).into())
    })))
}
