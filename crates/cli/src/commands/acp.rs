use std::path::Path;

use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::models::Models;
use headstart_machine::workspace;

use super::start;
use crate::args;
use crate::hosts::acp;

/// Serves an editor or another client of the Agent Client Protocol.
pub(crate) async fn run(args: args::Acp, context: &Context) -> Result<ExitStatus, CliError> {
    let flags = args.model.flags(&args.mode);
    if args.setup {
        return setup(&flags, context).await;
    }
    if args.model.record.is_some() {
        return Err(CliError::Unavailable(
            "--record keeps one conversation, and an editor has several".to_owned(),
        ));
    }
    acp::serve(context.clone(), flags).await?;
    Ok(ExitStatus::Done)
}

/// Tells a user in a terminal where to begin; fails if no model is chosen.
pub(crate) async fn setup(flags: &Flags, context: &Context) -> Result<ExitStatus, CliError> {
    start::run(context).await?;
    let here = workspace::resolve(None)?;
    let config = context.config(flags, Path::new(&here))?;
    Models::open(&config, &context.environment, None)?;
    Ok(ExitStatus::Done)
}
