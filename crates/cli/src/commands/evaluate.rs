//! `headstart evaluate`: how often a suggestion would have been what the user typed next, in past conversations.

mod lines;
mod page;

use std::path::Path;

use headstart_budget::policy::Tariff;
use headstart_context::{SessionEnvironment, system_text};
use headstart_forked_query::{BackgroundModel, ModelError, Money, Usage};
use headstart_machine::config::{Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::models::Models;
use headstart_machine::output::{self, PageLayout, Spinner};
use headstart_machine::{secrets, setup, workspace};

use crate::args::Evaluate;
use crate::evaluate::{
    EvaluatedPrompt, EvaluationQuery, EvaluationReport, RequestPrefix, SessionScan, ask, evenly_spaced,
    questions, scan,
};

/// After so many consecutive failures the next question is not expected to succeed.
const FAILURES: usize = 3;

/// What is about to be asked.
struct EvaluationPlan {
    questions: Vec<EvaluationQuery>,
    /// The number of selected prompts whose conversation has too few answers for a question.
    too_young: usize,
    model: String,
    candidates: usize,
    /// An upper estimate of the tokens of all questions.
    most: Usage,
    cost: PlanCost,
}

/// The cost in money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanCost {
    Free,
    Money(Money),
    /// The price table does not contain the model.
    Unknown,
}

impl PlanCost {
    fn of(usage: Usage, tariff: &Tariff) -> Self {
        match tariff.price_of(tariff.background(), usage) {
            _ if tariff.is_free() => Self::Free,
            Some(money) => Self::Money(money),
            None => Self::Unknown,
        }
    }
}

/// Reads the files, asks the model, and reports the result.
pub(crate) async fn run(args: Evaluate, context: &Context) -> Result<ExitStatus, CliError> {
    let layout = PageLayout::of(context);
    let spinner = Spinner::start("reading the files");
    let found = scan(&args.files)?;
    drop(spinner);
    if context.output.is_json() {
        lines::print_scan(&found)?;
    } else {
        output::print(&layout.fit(&page::scan_summary(&found)))?;
        for trouble in page::troubles(&found) {
            output::note(&trouble);
        }
    }
    if found.files.is_empty() {
        let message = "there is no session in these files that could be read; `headstart help evaluate` tells where products keep them";
        return Err(CliError::Unavailable(message.to_owned()));
    }
    let flags = Flags { cache_seconds: None, ..args.model.flags(&crate::args::ModeArg { mode: None }) };
    let workspace = workspace::resolve(None)?;
    let config = context.config(&flags, Path::new(&workspace))?;
    if args.dry_run && config.model.is_none() {
        output::note("no model is chosen, so what asking would cost is not known");
        return Ok(ExitStatus::Done);
    }
    let models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    let result = with_models(&args, context, &config, &workspace, &models, found).await;
    models.notices().iter().for_each(|notice| output::note(notice));
    models.close_after(result).await
}

async fn with_models(
    args: &Evaluate,
    context: &Context,
    config: &Config,
    workspace: &str,
    models: &Models,
    found: SessionScan,
) -> Result<ExitStatus, CliError> {
    let plan = plan(args, context, config, workspace, models, &found)?;
    if context.output.is_json() {
        lines::plan(&plan)?;
    } else {
        output::print(&PageLayout::of(context).fit(&page::plan(&plan)))?;
    }
    if args.dry_run || plan.questions.is_empty() {
        return Ok(ExitStatus::Done);
    }
    if !args.yes {
        match super::says_yes("send these conversations to that model? [y/N] ", context)? {
            Some(true) => {}
            Some(false) => {
                output::note("nothing was sent");
                return Ok(ExitStatus::Done);
            }
            None => {
                let message = "nothing was sent: nobody is at a terminal to agree to it; --yes agrees, --dry-run only counts";
                return Err(CliError::Unavailable(message.to_owned()));
            }
        }
    }
    let (EvaluationPlan { questions, candidates, .. }, tariff) = (plan, config.tariff());
    let (report, failed) = ask_all(questions, candidates, &models.background).await;
    if report.answered.is_empty() {
        return failed.map_or(Ok(ExitStatus::Done), |error| Err(CliError::Model(error)));
    }
    if context.output.is_json() {
        lines::report(&report, &found, &tariff, args.show)?;
    } else {
        let layout = PageLayout::of(context);
        if args.show {
            output::print(&page::result_page(&report))?;
        }
        output::print(&layout.fit(&page::page(&report, &tariff, layout)))?;
    }
    match failed {
        None => Ok(ExitStatus::Done),
        Some(error) => {
            output::note(&format!("not all could be asked; the last question failed: {error}"));
            Ok(ExitStatus::Failed)
        }
    }
}

/// Makes the questions, and adds up their tokens and cost.
fn plan(
    args: &Evaluate,
    context: &Context,
    config: &Config,
    workspace: &str,
    models: &Models,
    found: &SessionScan,
) -> Result<EvaluationPlan, CliError> {
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let toolbox = setup::offered_toolbox(config, workspace, &context.environment, state.as_deref())?;
    let tools = if config.mode.offers_tools() { toolbox.schemas() } else { Vec::new() };
    // The conversations took place elsewhere and in the past, so the model is told nothing of this folder, its files
    // and its rules.
    let system = system_text(&tools, None, &SessionEnvironment::default());
    let scrubber = secrets::scrubber(&context.environment);
    let opening =
        RequestPrefix { system: &system, tools: &tools, model: &models.main_name, scrubber: &scrubber };
    let questions = questions(found, &evenly_spaced(&found.prompts, args.limit), &opening);
    let all = questions.len();
    let questions: Vec<_> = questions.into_iter().flatten().collect();
    let mut most = Usage::default();
    for question in &questions {
        most += question.at_most(&models.background);
    }
    Ok(EvaluationPlan {
        too_young: all - questions.len(),
        questions,
        model: config.background_model(),
        candidates: config.candidates,
        most,
        cost: PlanCost::of(most, &config.tariff()),
    })
}

/// Asks the questions one after the other, as in a chat, where there is never more than one at a time. Returns the
/// results, and the last error if that ended the run.
async fn ask_all(
    questions: Vec<EvaluationQuery>,
    candidates: usize,
    background: &BackgroundModel,
) -> (EvaluationReport, Option<ModelError>) {
    let (mut report, mut failures) = (EvaluationReport::default(), Vec::new());
    let all = questions.len();
    for (number, question) in questions.into_iter().enumerate() {
        let spinner = Spinner::start(&format!("asking {} of {all}", number + 1));
        let asked = ask(&question, background, candidates).await;
        drop(spinner);
        match asked.error() {
            Some(error) => failures.push(error.clone()),
            None => failures.clear(),
        }
        if asked.error().is_none() {
            report.answered.push(EvaluatedPrompt::new(question, &asked, background));
        } else {
            report.failed += 1;
            report.failed_usage += asked.usage();
        }
        if failures.len() == FAILURES {
            return (report, failures.pop());
        }
    }
    (report, failures.pop())
}
