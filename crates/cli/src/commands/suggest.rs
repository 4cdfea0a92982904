use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_budget::ledger::Source;
use headstart_budget::{EntryBuilder, QueryCost, QuerySuppression};
use headstart_followup_state::Suggestion;
use headstart_forked_query::{
    CacheSafeParams, Generated, Guards, Suppressed, SuppressionReason, Usage, generate_candidates,
};
use headstart_machine::accounts::{entries_of, ledger_of, note_left_out};
use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::ledger::Ledger;
use headstart_machine::models::Models;
use headstart_machine::output::{self, Spinner};
use headstart_machine::rules::Rules;
use headstart_machine::store::SpeculationId;
use headstart_machine::{history, setup, workspace};
use headstart_overlay_fs::{OsTree, Tree};
use headstart_tool_gate::ApprovalMode;
use serde::Serialize;

use crate::args::Suggest;

/// The result of the query.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum SuggestReply<'a> {
    Suggestion {
        text: &'a str,
        /// Further candidates, best first.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        others: &'a [Suggestion],
        usage: Usage,
    },
    Suppressed {
        reason: &'a str,
        usage: Usage,
    },
}

/// Predicts the user's next prompt in a conversation.
pub(crate) async fn run(args: Suggest, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.model.flags(&args.mode), Path::new(&workspace))?;
    let history = history::read(&args.history)?;
    Models::note_no_turns(args.model.cache_seconds, &config);
    let models = Models::open(&config, &context.environment, args.model.record.as_deref())?;
    // The system instruction and the tools are the same as in chat and speculate, so that all share a prefix in the
    // provider's cache.
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let toolbox = setup::offered_toolbox(&config, &workspace, &context.environment, state.as_deref())?;
    let gate = config.gate_context(workspace.clone())?;
    let toolbox = toolbox.keeping(|name| !gate.tool_policies.excludes(name));
    let rules = setup::rules(&config, &workspace, state.as_deref());
    let tree =
        OsTree::open(&workspace).map_err(|error| setup::cannot_open(Path::new(&workspace), None, &error))?;
    let tree: Arc<dyn Tree> = Arc::new(tree);
    let system = Rules::system_text(rules.as_ref(), &toolbox, &tree, &gate).await;
    let tools = if config.mode.offers_tools() { toolbox.schemas() } else { Vec::new() };
    let params = CacheSafeParams::new(Some(system), tools, &history, &models.main_name);
    let guards = Guards { plan_mode: config.mode == ApprovalMode::Plan, ..Guards::default() };
    let ledger = ledger_of(context, &config, &workspace)?;
    let entries = entries_of(context, &config, Source::Command);
    note_left_out(&ledger, &entries, params.left_out(&models.background));
    let spinner = Spinner::start("asking what comes next");
    let asked = Instant::now();
    let answer = generate_candidates(&models.background, &params, &[], guards, config.candidates).await;
    drop(spinner);
    models.notices().iter().for_each(|notice| output::note(notice));
    let result = note(&ledger, &entries, &answer, asked.elapsed()).and_then(|()| report(answer, context));
    models.close_after(result).await
}

fn report(answer: Result<Generated, Suppressed>, context: &Context) -> Result<ExitStatus, CliError> {
    let json = context.output.is_json();
    match answer {
        Ok(generated) if json => {
            output::print_json(&SuggestReply::Suggestion {
                text: generated.suggestions.best().as_str(),
                others: generated.suggestions.others(),
                usage: generated.usage,
            })?;
        }
        Ok(generated) => {
            for suggestion in generated.suggestions.iter() {
                output::print(&format!("{}\n", output::printable(suggestion.as_str())))?;
            }
        }
        Err(Suppressed { reason: SuppressionReason::QueryFailed(error), .. }) => {
            return Err(CliError::Model(error));
        }
        Err(Suppressed { reason, usage }) if json => {
            output::print_json(&SuggestReply::Suppressed { reason: reason.as_str(), usage })?;
        }
        Err(Suppressed { reason, .. }) => output::note(&format!("no suggestion: {}", reason_text(&reason))),
    }
    Ok(ExitStatus::Done)
}

/// Why there is no suggestion, and what to do about it, for people.
fn reason_text(reason: &SuppressionReason) -> String {
    match reason {
        SuppressionReason::EarlyConversation => {
            "the conversation is too young; the history must hold two answers of the model".to_owned()
        }
        SuppressionReason::Empty => "the model has no guess; ask again after the next turn".to_owned(),
        SuppressionReason::PlanMode => {
            "in plan mode the next prompt is yours alone; choose another --mode".to_owned()
        }
        SuppressionReason::Filtered(filtered) => {
            format!("what the model gave is not one to show: {filtered}; ask again, or another --model")
        }
        other => format!("the turn before has no good end ({})", other.as_str()),
    }
}

/// Writes the cost of the query to the ledger, unless no model was asked.
fn note(
    ledger: &Ledger,
    makes: &EntryBuilder,
    answer: &Result<Generated, Suppressed>,
    time: Duration,
) -> Result<(), CliError> {
    let (guess, tokens, suppressed) = match answer {
        Ok(generated) => (Some(generated.suggestions.best().into()), generated.usage, None),
        Err(Suppressed {
            reason: SuppressionReason::EarlyConversation | SuppressionReason::PlanMode,
            ..
        }) => {
            return Ok(());
        }
        Err(Suppressed { reason: reason @ SuppressionReason::QueryFailed(error), usage }) => {
            (None, *usage, Some(QuerySuppression { reason: reason.as_str(), error: Some(error) }))
        }
        Err(Suppressed { reason, usage }) => (None, *usage, Some(reason.as_str().into())),
    };
    let work_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let cost = QueryCost { tokens, work_ms, dropped: false };
    let id = SpeculationId::random()?;
    let now = clock::unix_ms();
    let mut entries = vec![makes.suggestion(now, id.as_str(), guess, cost, suppressed)];
    for further in answer.iter().flat_map(|generated| generated.suggestions.others()) {
        let further_id = SpeculationId::random()?;
        entries.push(makes.candidate(now, further_id.as_str(), further.into(), id.as_str()));
    }
    ledger.note(&entries);
    Ok(())
}
