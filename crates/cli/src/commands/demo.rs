use crate::args::Demo;
use crate::context::Context;
use crate::demo;
use crate::error::CliError;
use crate::exit::ExitStatus;

/// Runs the demonstration on the bundled sample project.
pub(crate) async fn run(args: Demo, context: &Context) -> Result<ExitStatus, CliError> {
    demo::run(context, args.speed).await
}
