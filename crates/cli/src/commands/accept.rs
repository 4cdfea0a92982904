use std::path::Path;

use crate::args::Accept;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::store::State;
use crate::workspace;

/// Applies a speculation's changes to its workspace.
#[expect(clippy::unused_async, reason = "it waits as soon as it runs the engine")]
pub(crate) async fn run(args: Accept, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let id = store.resolve(&args.of.id)?;
    let record = store.read(&id)?;
    if store.is_alive(&record)? {
        let problem = format!("still runs, in process {}; wait for it, or abort it", record.owner.pid);
        return Err(CliError::WrongState { id: id.to_string(), problem });
    }
    let held = store.lock(&id)?;
    let workspace = workspace::resolve(Some(Path::new(&held.record().workspace)))?;
    let _config = context.config(&args.mode.flags(), Path::new(&workspace))?;
    if held.record().state != State::Finished {
        let problem = format!("is {}, so there is nothing to accept", held.record().status_word(false));
        return Err(CliError::WrongState { id: id.to_string(), problem });
    }
    Err(CliError::Unavailable("accept is not available in this build".to_owned()))
}
