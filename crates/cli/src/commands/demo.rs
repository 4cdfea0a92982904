use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;

/// Plays the whole flow on a sample project.
#[expect(clippy::unused_async, reason = "it waits as soon as it runs the engine")]
pub(crate) async fn run(_context: &Context) -> Result<ExitStatus, CliError> {
    Err(CliError::Unavailable("demo is not available in this build".to_owned()))
}
