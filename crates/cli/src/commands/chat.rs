use std::io::{IsTerminal, stdin};
use std::path::Path;

use headstart_machine::config::{self, Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::conversation::{ConversationSetup, ModelChoice, ServersStart, SessionSelector};
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::model_detection::{self, DetectedModels, Hint};
use headstart_machine::model_spec::ModelSpec;
use headstart_machine::models::Models;
use headstart_machine::output::{self, ColorMode};
use headstart_machine::sessions::Sessions;
use headstart_machine::workspace;
use headstart_terminal::{Input, Palette, TerminalFeatures, TerminalGuard, ThemeChoice};

use super::choose::{ModelSelection, choose};
use crate::args;
use crate::chat::{Chat, ChatStart, Display, PickerOutcome, pick};
use crate::demo::{self, DemoChat, NextCommand};

/// Starts a chat with a model in this project.
pub(crate) async fn run(args: args::Chat, context: &Context) -> Result<ExitStatus, CliError> {
    let mut flags = Flags { screen_reader: args.screen_reader, ..args.model.flags(&args.mode) };
    let nearest = flags.clone().or_environment(&context.environment)?;
    if nearest.model == Some(ModelSpec::Demo) {
        return Box::pin(with_recording(args, nearest, context)).await;
    }
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let configured = if is_attended(context) { Context::config_asking } else { Context::config };
    let mut config = configured(context, &flags, Path::new(&workspace))?;
    if config.model.is_none() {
        let seen = DetectedModels::detect(&context.environment).await;
        let chosen =
            if is_attended(context) { choose(&seen, config.base_url.as_deref(), context)? } else { None };
        let Some(ModelSelection { model, base_url }) = chosen else { return Err(no_model(&seen, context)) };
        if model == ModelSpec::Demo {
            flags.model = Some(model);
            return Box::pin(with_recording(args, flags, context)).await;
        }
        (flags.model, flags.base_url) = (Some(model), base_url.or(flags.base_url));
        config = context.config(&flags, Path::new(&workspace))?;
    }
    config.requests.is_attended = is_attended(context);
    let models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    let opening = args.prompt.map(ChatStart::with).unwrap_or_default();
    let which = SessionSelector::of(args.resume, args.goes_on);
    let choice = ModelChoice::new(&models, &config, &context.environment, args.model.record.as_deref());
    Box::pin(run_chats(context, config, &workspace, (&models, choice), opening, which)).await
}

/// Runs the bundled recording, which has a sample project of its own. The user's files, configuration and state are not
/// touched.
async fn with_recording(args: args::Chat, flags: Flags, context: &Context) -> Result<ExitStatus, CliError> {
    if args.workspace.path.is_some() {
        return Err(CliError::DemoModel { problem: "brings its own workspace; leave --workspace out" });
    }
    if args.resume.is_some() || args.goes_on {
        return Err(CliError::DemoModel {
            problem: "begins anew each time; leave --resume and --continue out",
        });
    }
    if args.model.record.is_some() {
        return Err(CliError::DemoModel { problem: "is a recording; leave --record out" });
    }
    let demo = DemoChat::create(args.model.speed.unwrap_or(1.0))?;
    let users = context.config(&flags, Path::new(&demo.workspace()?))?;
    let mode_is_chosen = flags.mode.is_some() || users.mode != Config::default().mode;
    let config = demo::config_of_chat(users, mode_is_chosen);
    let apart = Context {
        output: context.output,
        environment: context.environment.clone(),
        state_dir: Some(demo.state()),
    };
    let opening = demo.opening(args.prompt, config.mode);
    let choice = ModelChoice::new(&demo.models, &config, &context.environment, None);
    let workspace = demo.workspace()?;
    let ended = Box::pin(run_chats(
        &apart,
        config,
        &workspace,
        (&demo.models, choice),
        opening,
        SessionSelector::New,
    ))
    .await;
    drop(demo);
    if ended.is_ok() && context.output.is_terminal() && !context.output.is_json() {
        output::print(&demo::next_steps(NextCommand::Chat, context).await)?;
    }
    ended
}

async fn run_chats(
    context: &Context,
    config: Config,
    workspace: &str,
    (models, choice): (&Models, ModelChoice),
    opening: ChatStart,
    which: SessionSelector,
) -> Result<ExitStatus, CliError> {
    let interactive = is_attended(context);
    let mut config = config;
    if interactive && !output::takes_codes() && config.screen.read_aloud.is_none() {
        config.screen.read_aloud = Some("a console that takes no control codes".to_owned());
    }
    let (mut which, mut opening, mut choice) = (which, Some(opening), Some(choice));
    // The conversation that was left in order to choose another one. It continues if none is chosen.
    let mut before = None;
    loop {
        if which == SessionSelector::Chosen && interactive && config.screen.read_aloud.is_none() {
            let sessions = sessions_of(&config, workspace, context)?;
            // The terminal is released before the rest is opened, because opening may ask questions and print plain
            // lines.
            let (mut display, mut input) = terminal(&config, context)?;
            which = match (pick(&mut display, &mut input, &sessions).await?, before.take()) {
                (PickerOutcome::Session(id), _) => SessionSelector::Named(id),
                (PickerOutcome::Nothing, Some(before)) => before,
                (PickerOutcome::NoneThere, _) => SessionSelector::New,
                (PickerOutcome::Nothing, None) => return Ok(ExitStatus::Done),
            };
        }
        let servers = if interactive { ServersStart::AfterQuestions } else { ServersStart::First };
        let opened = ConversationSetup::open(context, &config, workspace, models, which, servers).await?;
        let ConversationSetup { parts, accounts, mut storage, state } = opened;
        let (display, mut input) = if interactive {
            storage.recall(&config, workspace, state.as_deref());
            terminal(&config, context)?
        } else {
            (Display::lines(context.output), Input::of_pipe())
        };
        let choice =
            choice.take().unwrap_or_else(|| ModelChoice::new(models, &config, &context.environment, None));
        let chat = Chat::new(parts, config.clone(), accounts, storage, choice, display);
        let chat = chat.with_start(opening.take().unwrap_or_default());
        let left = models.close_after(chat.run(&mut input).await).await?;
        if !left.resumes {
            return Ok(left.status);
        }
        (which, before) =
            (SessionSelector::Chosen, Some(left.id.map_or(SessionSelector::New, SessionSelector::Named)));
    }
}

/// The conversations of this workspace.
fn sessions_of(config: &Config, workspace: &str, context: &Context) -> Result<Sessions, CliError> {
    if !config.sessions {
        return Err(CliError::SessionsOff);
    }
    Ok(Sessions::of(context.store()?.state_folder(), workspace))
}

/// The output that a person sees or hears, and the input.
fn terminal(config: &Config, context: &Context) -> Result<(Display, Input), CliError> {
    let screen = &config.screen;
    if screen.read_aloud.is_some() {
        return Ok((Display::screen_reader(), Input::of_pipe()));
    }
    let theme = (context.output.style() == ColorMode::Colored).then_some(screen.theme.first());
    let variable = |name: &str| context.environment.text(name).ok().flatten().map(str::to_owned);
    let palette = Palette::of(theme, variable);
    let known = TerminalFeatures::of(variable);
    let has_title = known.has_title();
    let guard = TerminalGuard::new(screen.title && has_title, known.tells_keys);
    let display = guard.and_then(|guard| Display::terminal(palette, screen.markdown, guard));
    let mut display = display.map_err(CliError::Output)?;
    // A terminal that cannot show a title may not understand this code either.
    if screen.theme == ThemeChoice::Auto && theme.is_some() && has_title {
        display.ask_background()?;
    }
    Ok((display, Input::of_terminal()))
}

/// Whether a person reads the output and types the input.
fn is_attended(context: &Context) -> bool {
    stdin().is_terminal() && context.output.is_terminal() && !context.output.is_json()
}

/// The error without a model, with what can be chosen on this machine, because a new user may not know that.
fn no_model(seen: &DetectedModels, context: &Context) -> CliError {
    let hints = [seen.hints(), vec![Hint::of_recording()]].concat();
    let rows = model_detection::rows(&hints, context.output.columns(), ColorMode::Plain);
    let here = format!("{}\n{}", seen.head(), rows.join("\n"));
    CliError::NoModelForChat { here, user_file: config::user_file(&context.environment) }
}
