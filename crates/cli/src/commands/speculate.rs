use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use headstart_budget::ledger::{Outcome, Source};
use headstart_budget::outcome;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_machine::accounts::{entries_of, ledger_of, note_left_out};
use headstart_machine::checks::Checks;
use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::host::NativeHost;
use headstart_machine::intel::Intel;
use headstart_machine::mentions::Mentions;
use headstart_machine::models::Models;
use headstart_machine::output::{self, PageLayout, Spinner};
use headstart_machine::rules::Rules;
use headstart_machine::setup::AcceptingProcess;
use headstart_machine::store::{Draft, Record, RunningSpeculation};
use headstart_machine::system::signals::{self, Signals};
use headstart_machine::{history, setup, workspace};
use headstart_overlay_fs::{ChangeSummary, Tree};
use headstart_speculation::{CheckResult, Cost, Ending, Event, FailedCommand, Finished, Speculation, Status};
use headstart_tool_gate::{GateContext, Verdict};
use serde::Serialize;

use crate::args::Speculate;

/// The last line with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "finished", rename_all = "camelCase")]
struct SpeculationReport<'a> {
    id: &'a str,
    status: Status,
    changes: Vec<ChangeSummary>,
    boundary: Option<BoundaryReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<headstart_speculation::Limit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// A stable word for the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    next: Option<&'a str>,
    /// The result of the project's own check.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'a CheckResult>,
    /// The commands that ended with an error.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed: &'a [FailedCommand],
    usage: Cost,
}

/// Where the work stopped.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BoundaryReport<'a> {
    call: Option<&'a ToolCall>,
    verdict: &'a Verdict,
}

/// Runs a prompt over an overlay and stores the result.
pub(crate) async fn run(args: Speculate, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    let history = args.history.as_deref().map(history::read).transpose()?.unwrap_or_default();
    Models::note_no_turns(args.model.cache_seconds, &config);
    let models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    let store = context.store()?;
    let view_hosts = setup::view_hosts(&config, &workspace, &context.environment, Some(store.state_folder()));
    let intel = Intel::open(&config, &workspace, &context.environment, view_hosts.local.as_ref())?;
    let rules = GateContext { views: view_hosts.are_there(), ..config.gate_context(workspace.clone())? };
    let project_rules = setup::rules(&config, &workspace, Some(store.state_folder()));
    let checks = Checks::new(&workspace, &config.shadow, &context.environment);
    let host =
        Arc::new(NativeHost::unattended(rules).checking(checks).with_project_rules(project_rules.clone()));
    let tree = setup::tree(Path::new(&workspace), Some(store.state_folder()), AcceptingProcess::Another)?;
    let index = setup::index(&config, &workspace, &context.environment, Some(store.state_folder()))?;
    let background = models.background.clone();
    let of_engine = Arc::clone(&host);
    let toolbox =
        setup::toolbox(&config, Path::new(&workspace), &context.environment, view_hosts, index.as_ref());
    let engine =
        setup::engine(Arc::new(tree), toolbox, background, of_engine, &config.limits, index.as_ref());
    let engine = setup::offered(Intel::join(intel, engine));
    host.set_mentions(Mentions::new(engine.toolbox.clone(), &models, Arc::default()));
    let tools = engine.offered_tools();
    let base: Arc<dyn Tree> = Arc::clone(&engine.workspace) as _;
    let gate = engine.host.gate_context();
    let system = Rules::system_text(project_rules.as_ref(), &engine.toolbox, &base, &gate).await;
    let params = CacheSafeParams::new(Some(system), tools, &history, &models.main_name);
    let ledger = ledger_of(context, &config, &workspace)?;
    let entries = entries_of(context, &config, Source::Command);
    note_left_out(&ledger, &entries, params.left_out(&models.background));
    let running = store.create(Draft {
        conversation: None,
        workspace,
        mode: config.mode,
        mode_by_flag: args.mode.mode.is_some(),
        model: config.model.as_ref().map(ToString::to_string).unwrap_or_default(),
        fast_model: config
            .fast_model
            .as_ref()
            .filter(|fast| Some(*fast) != config.model.as_ref())
            .map(ToString::to_string),
        prompt: args.prompt.clone(),
    })?;
    let id = running.record().id.to_string();
    let started = engine.start(id.clone(), &params, &args.prompt);
    let (speculation, driver, events) = match started {
        Ok(started) => started,
        Err(error) => {
            running.discard()?;
            return Err(error.into());
        }
    };
    if let Some(index) = &index {
        index.begin();
    }
    let driver = tokio::spawn(driver);
    let finished = watch(&speculation, events, &running, context).await;
    let finished = match finished {
        Ok(SpeculationEnd::Finished(finished)) => *finished,
        given_up => {
            let (cost, status) = (speculation.cost(), speculation.status());
            speculation.abort();
            running.discard()?;
            let now = clock::unix_ms();
            let spent = entries.speculation(now, &id, &args.prompt, &cost, status);
            ledger.note(&[spent, outcome(now, &id, Outcome::Aborted, 0)]);
            return models.close_after(given_up.and_then(|given_up| Err(given_up.error(id)))).await;
        }
    };
    // The driver has reported everything, and its result is not needed.
    let _ = driver.await;
    index.iter().flat_map(|index| index.notices()).for_each(|notice| output::note(&notice));
    project_rules.iter().flat_map(|rules| rules.notices()).for_each(|notice| output::note(&notice));
    models.notices().iter().for_each(|notice| output::note(notice));
    let record = running.finish(finished)?;
    if let Some(finished) = &record.finished {
        let status = finished.ending.status();
        ledger.note(&[entries.speculation(clock::unix_ms(), &id, &args.prompt, &finished.cost, status)]);
    }
    // The work is reported first, because it is stored whether or not its recording can be.
    models.close_after(report(&record, context)).await
}

/// How the work ended.
enum SpeculationEnd {
    Finished(Box<Finished>),
    /// Another process requested the abort.
    Aborted,
    Signalled(signals::Ending),
}

impl SpeculationEnd {
    /// The error for work that was aborted.
    fn error(self, id: String) -> CliError {
        match self {
            Self::Signalled(signal) => {
                let what = format!("speculation {id} was given up; nothing of it is left");
                CliError::Signalled { signal, what }
            }
            _ => CliError::GivenUp { id },
        }
    }
}

/// Shows the events until the work ends.
async fn watch(
    speculation: &Speculation,
    mut events: headstart_speculation::Events,
    running: &RunningSpeculation,
    context: &Context,
) -> Result<SpeculationEnd, CliError> {
    let spinner = Spinner::start(speculation.prompt());
    let json = context.output.is_json();
    let mut signals = Signals::new().map_err(CliError::Input)?;
    let work = async {
        while let Some(event) = events.next().await {
            match (&event, json) {
                (event, true) => output::print_json(event)?,
                (Event::ToolCall { call }, false) => {
                    output::note(&format!("* {}", output::call_on_one_line(call)));
                }
                (Event::Checked(checked), false) => output::note(&output::checked_line(checked)),
                (Event::ShadowRan { .. }, false) => output::note(&output::shadow_line(&event)),
                _ => {}
            }
        }
        let mut finished = (*speculation.finished().await).clone();
        finished.next = speculation.next().await.map(|next| next.best().as_str().to_owned());
        finished.cost.tokens = speculation.cost().tokens;
        Ok(SpeculationEnd::Finished(Box::new(finished)))
    };
    let ended = tokio::select! {
        ended = work => ended,
        () = running.until_abort_is_requested() => Ok(SpeculationEnd::Aborted),
        signal = signals.next() => Ok(SpeculationEnd::Signalled(signal)),
    };
    drop(spinner);
    ended
}

fn report(record: &Record, context: &Context) -> Result<ExitStatus, CliError> {
    let finished = record.finished.as_ref().expect("works because a finished record holds what came out");
    if context.output.is_json() {
        output::print_json(&line(finished))?;
    } else {
        output::print(&super::show::page(record, record.status_word(false), context.output.style()))?;
        let id = &finished.id;
        if let Ending::Failed { error, .. } = &finished.ending {
            output::note(&format!("headstart: {error}"));
        }
        let next = if !finished.changes.changes.is_empty() {
            format!(
                "headstart diff {id} shows the changes; accept {id} applies them; abort {id} leaves nothing"
            )
        } else if finished.git.is_some() {
            format!("headstart accept {id} applies it; abort {id} leaves nothing")
        } else if finished.has_results() {
            format!("no file was changed; headstart show {id} shows what was done; abort {id} leaves nothing")
        } else {
            format!("nothing was done that could be accepted; headstart abort {id} leaves nothing of it")
        };
        output::note(PageLayout::of(context).fit(&next).trim_end());
    }
    Ok(match finished.ending.status() {
        Status::Completed => ExitStatus::Done,
        Status::Boundary => ExitStatus::Boundary,
        _ => ExitStatus::Failed,
    })
}

fn line(finished: &Finished) -> SpeculationReport<'_> {
    SpeculationReport {
        id: &finished.id,
        status: finished.ending.status(),
        changes: finished.changes.summary(),
        boundary: match &finished.ending {
            Ending::Boundary { verdict } => Some(BoundaryReport { call: finished.pending_call(), verdict }),
            _ => None,
        },
        limit: match finished.ending {
            Ending::Exhausted { limit } => Some(limit),
            _ => None,
        },
        error: match &finished.ending {
            Ending::Failed { error, .. } => Some(error),
            _ => None,
        },
        code: match &finished.ending {
            Ending::Failed { code, .. } => code.as_deref(),
            _ => None,
        },
        next: finished.next.as_deref(),
        check: finished.check.as_ref(),
        failed: &finished.failed,
        usage: finished.cost,
    }
}
