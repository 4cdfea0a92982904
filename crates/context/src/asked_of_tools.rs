//! What a host itself asks the tools, for the text that it gives the model.

use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{Overlay, Quota, Tree};
use headstart_tool_gate::{CallRef, Decision, Gate, GateContext, Reason, ours};
use headstart_toolbox::{Limits, ToolContext, Toolbox};
use serde_json::Value;

/// Whom a tool is asked for, and over what.
pub struct Asking<'a> {
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// What the work sees.
    pub tree: &'a Arc<dyn Tree>,
    /// The rules in force.
    pub gate: &'a GateContext,
    /// Whether it is for a prompt of the user's own.
    pub attended: bool,
    /// As long a command may take.
    pub time: Duration,
}

impl Asking<'_> {
    /// What a tool says, judged and confined as a call of a model's that nobody gave a consent to. The error says why it does not.
    pub async fn run(&self, name: &str, args: &Value) -> Result<String, String> {
        // It is no call of the model's, so what the user says of those is not about it.
        let gate = &self.gate.without_tool_policies();
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall { id: String::new(), name: name.to_owned(), args };
        let verdict = Gate::new().judge(CallRef { name, args: &call.args }, gate);
        // A page is fetched that the user names in a prompt of their own: nobody asks them for what they just said.
        let is_named_by_user =
            self.attended && name == ours::FETCH_URL.name && verdict.reason == Reason::Network;
        if verdict.decision != Decision::Allow && !is_named_by_user {
            return Err(format!("may not be asked for: {}", verdict.detail));
        }
        let view = Arc::new(Overlay::new(Arc::clone(self.tree), Quota::default()));
        let limits = Limits { command_time: self.time, ..Limits::default() };
        let context = ToolContext {
            view: &view,
            gate,
            limits: &limits,
            hardened: verdict.hardened.as_ref(),
            consented: false,
            attended: self.attended,
        };
        self.toolbox.run(&call, context).await.map_err(|error| error.to_string())
    }
}
