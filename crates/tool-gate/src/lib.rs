//! The verdict on a tool call, and what a shell command would do.

mod builtin;
mod verdict;

pub use builtin::BuiltinTool;
pub use verdict::{
    ApprovalMode, CallRef, Decision, DenyRule, Effect, EffectKind, Gate, GateContext, Reason, Verdict,
};
