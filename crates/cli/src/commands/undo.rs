use crate::args::OfId;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::store::State;

/// Says that undo is not there yet, and what takes the changes back today.
pub(crate) fn run(args: &OfId, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let id = store.resolve(&args.id)?;
    let record = store.read(&id)?;
    if record.state != State::Accepted {
        let problem = "was not accepted, so there is nothing to undo".to_owned();
        return Err(CliError::WrongState { id: id.to_string(), problem });
    }
    Err(CliError::Unavailable(format!(
        "undo is not available yet, and nothing was changed; in {workspace}, \
         `headstart diff {id} | git apply --reverse` takes the changes back",
        workspace = record.workspace
    )))
}
