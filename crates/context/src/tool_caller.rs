//! Calls of tools by the host itself, for text that it gives to the model.

use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{Overlay, Quota, Tree};
use headstart_tool_gate::{CallRef, Decision, Gate, GateContext, Reason, ours};
use headstart_toolbox::{ToolContext, ToolLimits, ToolOutput, Toolbox};
use serde_json::Value;

/// On whose behalf, and over which tree, a tool is called.
pub struct ToolCaller<'a> {
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// The tree that the work sees.
    pub tree: &'a Arc<dyn Tree>,
    /// The rules in force.
    pub gate: &'a GateContext,
    /// Whether it is for a prompt of the user.
    pub attended: bool,
    /// The longest time for a command.
    pub time: Duration,
}

impl ToolCaller<'_> {
    /// Calls a tool. The call is judged and confined like a call of a model without anybody's consent. The error says
    /// why there is no answer.
    pub async fn run(&self, name: &str, args: &Value) -> Result<String, String> {
        // It is not a call of the model, so the user's policies for those do not apply.
        let gate = &self.gate.without_tool_policies();
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall { id: String::new(), name: name.to_owned(), args };
        let verdict = Gate::new().judge(CallRef { name, args: &call.args }, gate);
        // A page that the user names in their own prompt is fetched without a question, because they just asked for
        // it.
        let is_named_by_user =
            self.attended && name == ours::FETCH_URL.name && verdict.reason == Reason::Network;
        if verdict.decision != Decision::Allow && !is_named_by_user {
            return Err(format!("may not be asked for: {}", verdict.detail));
        }
        let view = Arc::new(Overlay::new(Arc::clone(self.tree), Quota::default()));
        let limits = ToolLimits { command_time: self.time, ..ToolLimits::default() };
        let context = ToolContext {
            view: &view,
            gate,
            limits: &limits,
            hardened: verdict.hardened.as_ref(),
            consented: false,
            attended: self.attended,
        };
        self.toolbox.run(&call, context).await.map(ToolOutput::into_text).map_err(|error| error.to_string())
    }
}
