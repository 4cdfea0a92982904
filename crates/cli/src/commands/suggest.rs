use std::path::Path;

use crate::args::Suggest;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::models::Models;
use crate::{history, workspace};

/// Predicts the next prompt of a conversation.
#[expect(clippy::unused_async, reason = "it waits as soon as it runs the engine")]
pub(crate) async fn run(args: Suggest, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    let _history = history::read(&args.history)?;
    let _models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    Err(CliError::Unavailable("suggest is not available in this build".to_owned()))
}
