use std::sync::{Arc, Mutex};

use headstart_tool_gate::{GateContext, SessionRule};

use crate::lock::lock;

/// What the user has allowed for the rest of the conversation. Every clone is the same list.
#[derive(Clone, Default)]
pub(crate) struct SessionRules(Arc<Mutex<Vec<SessionRule>>>);

impl SessionRules {
    pub(crate) fn add(&self, rule: &SessionRule) {
        let mut rules = lock(&self.0);
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }

    /// Removes a rule, and returns whether it was there.
    pub(crate) fn remove(&self, rule: &SessionRule) -> bool {
        let mut rules = lock(&self.0);
        let before = rules.len();
        rules.retain(|known| known != rule);
        rules.len() < before
    }

    pub(crate) fn list(&self) -> Vec<SessionRule> {
        lock(&self.0).clone()
    }

    /// The rules of the host together with these.
    pub(crate) fn apply_to(&self, context: GateContext) -> GateContext {
        let rules = lock(&self.0);
        let policies = rules.iter().fold(None, |policies, rule| {
            Some(policies.as_ref().unwrap_or(&context.tool_policies).with_session_rule(rule))
        });
        match policies {
            Some(tool_policies) => GateContext { tool_policies, ..context },
            None => context,
        }
    }
}
