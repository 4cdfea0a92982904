use headstart_followup_state::Suggestion;
use headstart_forked_query::{CacheSafeParams, Guards, generate_candidates};
use headstart_tool_gate::ApprovalMode;

use crate::run::{Progress, lock};
use crate::{Engine, Finished};

/// What the user may ask after the speculated turn: the same question to the model as after a real turn, over the
/// conversation that an accept would leave, tool results included.
pub(crate) async fn next_suggestion(
    engine: &Engine,
    params: &CacheSafeParams,
    finished: &Finished,
    progress: &std::sync::Mutex<Progress>,
) -> Option<Suggestion> {
    let plan_mode = engine.host.gate_context().mode == ApprovalMode::Plan;
    let guards = Guards { plan_mode, ..Guards::default() };
    let speculated = &finished.transcript.messages;
    let count = engine.limits.candidates;
    let answer = generate_candidates(&engine.background, params, speculated, guards, count).await;
    let (suggestion, others, usage) = match answer {
        Ok(generated) => (Some(generated.suggestion), generated.others, generated.usage),
        Err(suppressed) => (None, Vec::new(), suppressed.usage),
    };
    let mut progress = lock(progress);
    progress.cost.tokens += usage;
    progress.others = others;
    suggestion
}
