//! Applies a policy to a verdict. The verdict comes first, and a policy only makes it stricter, with one exception:
//! in a turn `automatic` may answer the question that the user would be asked.

use super::{ToolDecision, ToolPolicy};
use crate::{ApprovalMode, CallRef, Decision, Gate, GateContext, Reason, StandingConsent, Verdict};

/// The verdict on a call of a turn.
pub(crate) fn now(verdict: Verdict, call: CallRef<'_>, context: &GateContext) -> Verdict {
    match context.tool_policies.decide(call, context) {
        Some(said) if said.policy == ToolPolicy::Exclude => excluded(verdict, call, &said),
        Some(said) if asks(&said, &verdict) => stopped(verdict, &said),
        _ => verdict,
    }
}

/// The verdict on a call of work that runs ahead.
pub(crate) fn ahead(verdict: Verdict, call: CallRef<'_>, context: &GateContext) -> Verdict {
    match context.tool_policies.decide_ahead(call, context) {
        Some(said) if said.policy == ToolPolicy::Exclude => excluded(verdict, call, &said),
        Some(said) if asks(&said, &verdict) => match verdict.decision {
            // The user is asked about all changes of the work when they accept it.
            Decision::Redirect
                if context.asks_on_accept() || context.ahead_writes == crate::AheadWrites::Ask =>
            {
                Verdict { reason: Reason::StagedAsksFirst, detail: said.why, ..verdict }
            }
            _ => stopped(verdict, &said),
        },
        _ => verdict,
    }
}

/// What the policies say about a call that is a boundary.
pub(crate) fn standing_consent(
    gate: &Gate,
    verdict: &Verdict,
    call: CallRef<'_>,
    context: &GateContext,
) -> StandingConsent {
    match context.tool_policies.decide(call, context).map(|said| said.policy) {
        None => StandingConsent::Nothing,
        Some(ToolPolicy::Exclude) => StandingConsent::No,
        Some(ToolPolicy::Ask) => StandingConsent::Asks,
        Some(ToolPolicy::Automatic) if is_for_the_user_alone(gate, verdict, call, context) => {
            StandingConsent::Nothing
        }
        Some(ToolPolicy::Automatic) => StandingConsent::Yes,
    }
}

/// The entry without which something else would become of a call. `verdict` is the one by all other rules.
pub(crate) fn deciding(
    gate: &Gate,
    verdict: &Verdict,
    call: CallRef<'_>,
    context: &GateContext,
    is_ahead: bool,
) -> Option<ToolDecision> {
    let policies = &context.tool_policies;
    let said = if is_ahead { policies.decide_ahead(call, context) } else { policies.decide(call, context) }?;
    let would_ask = !is_ahead && verdict.decision == Decision::Boundary;
    let decides = match said.policy {
        ToolPolicy::Exclude => true,
        ToolPolicy::Ask => asks(&said, verdict) || would_ask && context.mode == ApprovalMode::Yolo,
        ToolPolicy::Automatic => {
            would_ask
                && context.mode != ApprovalMode::Yolo
                && !context.mode.writes_nothing()
                && !is_for_the_user_alone(gate, verdict, call, context)
        }
    };
    decides.then_some(said)
}

/// Whether no policy may answer the question about a call, because a rule asks it and not the mode: about a path that
/// is closed, a secret, a folder that configures programs, or a program at which a policy stops.
fn is_for_the_user_alone(gate: &Gate, verdict: &Verdict, call: CallRef<'_>, context: &GateContext) -> bool {
    match verdict.reason {
        Reason::DeniedPath
        | Reason::SecretPath
        | Reason::ProtectedPath
        | Reason::Policy
        | Reason::AmbiguousPath => true,
        // The mode asks before those rules are looked at, so the call is judged again in a mode that does not ask.
        Reason::WriteToolNoAuto => {
            let edits = GateContext { mode: ApprovalMode::AutoEdit, ..context.clone() };
            gate.judge(call, &edits).decision == Decision::Boundary
        }
        _ => false,
    }
}

/// Whether a policy has the user asked about a call that would run.
fn asks(said: &ToolDecision, verdict: &Verdict) -> bool {
    said.policy == ToolPolicy::Ask
        && match verdict.decision {
            Decision::Allow => said.named && verdict.reason != Reason::InvalidArgument,
            Decision::Redirect => true,
            Decision::Shadow => said.named,
            Decision::Boundary => false,
        }
}

fn stopped(verdict: Verdict, said: &ToolDecision) -> Verdict {
    let detail = format!("you are asked first: {}", said.why);
    Verdict { decision: Decision::Boundary, reason: Reason::Policy, detail, ..verdict }
}

fn excluded(verdict: Verdict, call: CallRef<'_>, said: &ToolDecision) -> Verdict {
    let detail = format!("{} is not available: {}", call.name, said.why);
    Verdict { decision: Decision::Boundary, reason: Reason::ExcludedTool, detail, ..verdict }
}
