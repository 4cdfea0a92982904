use headstart_followup_state::Suggestion;
use headstart_forked_query::{CacheSafeParams, Guards, generate_pipelined_suggestion};
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
    let answer = generate_pipelined_suggestion(&engine.background, params, speculated, guards).await;
    let (suggestion, usage) = match answer {
        Ok(generated) => (Some(generated.suggestion), generated.usage),
        Err(suppressed) => (None, suppressed.usage),
    };
    lock(progress).cost.tokens += usage;
    suggestion
}
