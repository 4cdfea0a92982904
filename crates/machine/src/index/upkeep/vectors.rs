use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_code_index::{Embedder, ModelFailure};

use super::shared::SharedState;
use super::work::{HEARTBEAT, lower_priority};
use crate::index::{Index, IndexModels, VectorBuilder, VectorError};

/// After a failure that may be temporary the model is asked again after this time, and after twice the time for each
/// further failure, up to the limit below.
const FIRST_REST: Duration = Duration::from_secs(10);
const MAX_REST: Duration = Duration::from_secs(600);
/// How quickly a request ends when the process does.
const NOTICED: Duration = Duration::from_millis(50);

/// Starts the thread that makes vectors, if there is a model for them. The thread ends with the index, or if the model
/// cannot be used.
pub(super) fn begin(shared: &Arc<SharedState>, index: &Arc<Index>, models: &Arc<IndexModels>) {
    let Some(embedder) = models.embedder().cloned() else { return };
    let (shared, index, models) = (Arc::clone(shared), Arc::clone(index), Arc::clone(models));
    let work = move || {
        lower_priority();
        let done = keep(&shared, &index, &models, &embedder);
        if let Err(VectorError::Index(error)) = done {
            models.notice_once(&format!("no more vectors are made: {error}"));
        }
    };
    // Without the thread only words are compared.
    let _ = std::thread::Builder::new().name("vectors".to_owned()).spawn(work);
}

fn keep(
    shared: &SharedState,
    index: &Index,
    models: &IndexModels,
    embedder: &Arc<dyn Embedder>,
) -> Result<(), VectorError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ModelFailure::unusable(error.to_string()).caused_by(error))?;
    let mut rest = FIRST_REST;
    while is_wanted(shared) {
        let made = runtime.block_on(async {
            tokio::select! {
                made = make(shared, index, models, embedder) => made,
                () = until_over(shared) => Ok(()),
            }
        });
        match made {
            Ok(()) => rest = FIRST_REST,
            Err(VectorError::Model(failure)) => {
                models.no_vectors(&failure);
                let ModelFailure::Later { after, .. } = failure else { return Ok(()) };
                shared.wait(after.unwrap_or(rest).clamp(rest, MAX_REST), |state| state.over);
                rest = (2 * rest).min(MAX_REST);
                shared.change(|state| state.wants_vectors = true);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until vectors are needed and this process is the one that makes them. Returns `false` if the index ends.
fn is_wanted(shared: &SharedState) -> bool {
    shared.wait_until_break(|state| {
        let is_complete = state.progress.is_some_and(|progress| progress.percent() == 100);
        if state.over {
            ControlFlow::Break(false)
        } else if state.wants_vectors && state.keeps && is_complete {
            state.wants_vectors = false;
            ControlFlow::Break(true)
        } else {
            ControlFlow::Continue(Instant::now() + HEARTBEAT)
        }
    })
}

/// Makes all missing vectors, as long as this process is the one that keeps the index current.
async fn make(
    shared: &SharedState,
    index: &Index,
    models: &IndexModels,
    embedder: &Arc<dyn Embedder>,
) -> Result<(), VectorError> {
    let mut embedding = VectorBuilder::begin(index, embedder)?;
    while embedding.step().await?.is_continue() {
        models.expect(embedding.dimensions());
        if !shared.change(|state| state.keeps) {
            shared.change(|state| state.wants_vectors = true);
            return Ok(());
        }
        // Lets other tasks of this thread run, and processes that wait for the database.
        tokio::task::yield_now().await;
    }
    models.expect(embedding.dimensions());
    let left_out = index.store.vector_status(embedder.id())?.left_out();
    if 0 < left_out {
        models.notice_once(&format!(
            "{left_out} chunks are over the limit of vectors; they are found by words alone"
        ));
    }
    Ok(())
}

async fn until_over(shared: &SharedState) {
    while !shared.change(|state| state.over) {
        tokio::time::sleep(NOTICED).await;
    }
}
