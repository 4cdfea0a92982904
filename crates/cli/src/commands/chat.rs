use std::io::{IsTerminal, stdin};
use std::path::Path;

use crate::args;
use crate::chat::{Books, Chat, Face, Holds};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::models::Models;
use crate::output::Style;
use crate::terminal::{Input, Palette};
use crate::{setup, workspace};

/// Talks to a model in this project.
pub(crate) async fn run(args: args::Chat, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    let models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    // A chat needs no store; without a state folder its accepts cannot be undone.
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let (session, asks) = setup::session(&config, &workspace, state.as_deref(), &models, Vec::new())?;
    let books = Books::open(context, &config, &workspace)?;
    let interactive = stdin().is_terminal() && context.output.is_terminal() && !context.output.is_json();
    let (face, input) = if interactive {
        let palette = match context.output.style() {
            Style::Plain => Palette::Plain,
            Style::Colored => Palette::Styled,
        };
        let face = Face::terminal(palette).map_err(CliError::Output)?;
        (face, Input::of_terminal())
    } else {
        (Face::lines(context.output), Input::of_pipe())
    };
    let holds = Holds::of(&models.waits);
    let ended = Chat::new(session, config, books, asks, holds, face).run(input).await;
    models.close_after(ended).await
}
