use std::time::Duration;

use headstart_forked_query::ToolSchema;
use headstart_speculation::{AtBoundary, Limits};
use headstart_tool_gate::AheadWrites;
use serde::Deserialize;

use crate::change_set::CommitOptionFields;
use crate::failure::Failure;
use crate::overlay::QuotaOptions;

/// The options of an engine, besides callbacks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    #[serde(default)]
    pub(crate) model_name: String,
    /// Whether the developer has a runner for commands.
    #[serde(default)]
    pub(crate) runs_commands: bool,
    /// Whether the project's rules are sent to the model. In that case the model may also read a rule by its name.
    #[serde(default)]
    pub(crate) has_rules: bool,
    /// The developer's tools.
    #[serde(default)]
    pub(crate) tools: Vec<ToolSchema>,
    /// For each of these tools, the arguments that are paths if the tool only reads, as the developer says.
    #[serde(default)]
    pub(crate) reads: Vec<Option<Vec<String>>>,
    #[serde(default)]
    limits: LimitFields,
    #[serde(default)]
    pub(crate) at_boundary: BoundaryOption,
    /// What happens to edits of work ahead in a mode that asks.
    #[serde(default)]
    pub(crate) ahead_writes: AheadWrites,
    #[serde(default)]
    pub(crate) commit: CommitOptionFields,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BoundaryOption {
    #[default]
    Commit,
    Discard,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct LimitFields {
    turns: Option<u64>,
    messages: Option<u64>,
    tokens: Option<u64>,
    time_ms: Option<f64>,
    candidates: Option<u64>,
    staged: QuotaOptions,
}

impl Options {
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        let LimitFields { turns, messages, tokens, time_ms, candidates, staged } = &self.limits;
        let usual = Limits::default();
        let number = |given: &Option<u64>| given.map(|given| u32::try_from(given).unwrap_or(u32::MAX));
        let count = |given: &Option<u64>| given.map(|given| usize::try_from(given).unwrap_or(usize::MAX));
        let time = match time_ms {
            None => usual.time,
            Some(time) => Duration::try_from_secs_f64(time / 1000.0).map_err(|_| {
                Failure::input(
                    "limits.timeMs",
                    format!("must be a number of milliseconds, 0 or more, and is {time}"),
                )
            })?,
        };
        Ok(Limits {
            turns: number(turns).unwrap_or(usual.turns),
            messages: count(messages).unwrap_or(usual.messages),
            tokens: tokens.unwrap_or(usual.tokens),
            time,
            candidates: count(candidates).unwrap_or(usual.candidates),
            staged: staged.quota(),
            ..usual
        })
    }
}

impl From<BoundaryOption> for AtBoundary {
    fn from(choice: BoundaryOption) -> Self {
        match choice {
            BoundaryOption::Commit => Self::Commit,
            BoundaryOption::Discard => Self::Discard,
        }
    }
}

/// The limits of a foreground turn. The user can stop it, so no budget does; these limits only end a model that runs in
/// circles.
pub(crate) fn foreground(limits: &Limits) -> Limits {
    Limits {
        turns: 200,
        messages: 1_000,
        tokens: u64::MAX,
        time: Duration::from_secs(24 * 60 * 60),
        ..*limits
    }
}
