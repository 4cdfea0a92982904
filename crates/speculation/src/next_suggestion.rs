use headstart_followup_state::Suggestions;
use headstart_forked_query::{CacheSafeParams, Guards, LOCAL_DEADLINE, generate_candidates, in_time};
use headstart_tool_gate::ApprovalMode;

use crate::lock::lock;
use crate::turn_loop::Progress;
use crate::{Engine, Finished};

/// What the user may ask after the speculated turn. The model is asked the same question as after a real turn, over the
/// conversation that an accept would leave, including tool results.
pub(crate) async fn next_suggestion(
    engine: &Engine,
    params: &CacheSafeParams,
    finished: &Finished,
    progress: &std::sync::Mutex<Progress>,
) -> Option<Suggestions> {
    let plan_mode = engine.host.gate_context().mode == ApprovalMode::Plan;
    let guards = Guards { plan_mode, ..Guards::default() };
    let speculated = &finished.transcript.messages;
    let count = engine.limits.candidates;
    let asked = generate_candidates(&engine.background, params, speculated, guards, count);
    let answer = in_time(&engine.background, asked, engine.host.sleep(LOCAL_DEADLINE)).await;
    let mut progress = lock(progress);
    match answer {
        Ok(generated) => {
            progress.cost.tokens += generated.usage;
            Some(generated.suggestions)
        }
        Err(suppressed) => {
            progress.cost.tokens += suppressed.usage;
            progress.no_next_reason = Some(suppressed.reason);
            None
        }
    }
}
