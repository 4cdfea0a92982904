use std::path::Path;

use crate::args::Speculate;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::models::Models;
use crate::{history, workspace};

/// Runs a prompt over an overlay and keeps the result.
#[expect(clippy::unused_async, reason = "it waits as soon as it runs the engine")]
pub(crate) async fn run(args: Speculate, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    let _history = args.history.as_deref().map(history::read).transpose()?;
    let _models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    Err(CliError::Unavailable("speculate is not available in this build".to_owned()))
}
