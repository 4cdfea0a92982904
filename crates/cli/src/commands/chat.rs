use std::path::Path;

use crate::args::Chat;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::workspace;

/// Talks to a model in a project.
#[expect(clippy::unused_async, reason = "it waits as soon as it runs the engine")]
pub(crate) async fn run(args: Chat, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let _config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    Err(CliError::Unavailable("chat is not available in this build".to_owned()))
}
