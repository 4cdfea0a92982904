use std::path::Path;

use headstart_speculation::AtBoundary;
use headstart_tool_gate::{AheadWrites, ApprovalMode, Policies, PolicyOrigin};

use super::file::{self, File};
use super::source::{Located, Owner, Source};
use super::{Config, Flags, budget, index, intel, per_model, screen, shadow, tool_servers, tools, web};
use crate::error::CliError;
use crate::model_spec::ModelSpec;

/// The models that a project's file chooses, and those that the user has without it: the conversation's, and that of
/// background work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectModels {
    pub(crate) chosen: (Option<ModelSpec>, Option<ModelSpec>),
    pub(crate) users: (Option<ModelSpec>, Option<ModelSpec>),
}

/// Adds the rules of a project's file to those of the user.
pub(super) fn apply_rules(config: &mut Config, path: &Path) -> Result<(), CliError> {
    file::read(path, Owner::Project)?.map_or(Ok(()), |file| add_rules(config, &file))
}

fn add_rules(config: &mut Config, file: &File) -> Result<(), CliError> {
    config.deny.extend(file.deny()?);
    if let Some(defaults) = file.deny_defaults() {
        if !defaults.value && config.deny_defaults {
            let problem = "a project cannot open files that hold secrets; true is allowed here, false only in your own file";
            return Err(file.source().refuse(defaults.line, "deny_defaults", problem));
        }
        config.deny_defaults = defaults.value;
    }
    let of_user: Vec<_> = config.policies.of(PolicyOrigin::User).cloned().collect();
    config.policies = Policies::new(of_user, file.policies()).map_err(|error| file.refuse_policy(&error))?;
    Ok(())
}

/// Applies the project's file to the user's configuration, as far as a project may change it.
///
/// `nearest` is what flags and environment say. A field that they set is not checked in the project's file, because the
/// project's value is not used.
pub(super) fn apply(config: &mut Config, nearest: &Flags, path: &Path) -> Result<(), CliError> {
    let Some(file) = file::read(path, Owner::Project)? else { return Ok(()) };
    let source = file.source();
    refuse_base_url(&file)?;
    if let Some((field, value)) = file.requests()?.first() {
        let problem = "a project cannot say how your provider is asked; set it in your own file";
        return Err(source.refuse(value.line, field.name(), problem));
    }
    let users = (config.model.clone(), config.fast_model.clone());
    if let (Some(spec), None) = (file.model()?, &nearest.model) {
        config.model = Some(same_provider(source, "model", spec, config.model.as_ref())?);
    }
    if let (Some(spec), None) = (file.fast_model()?, &nearest.fast_model) {
        let users = config.fast_model.as_ref().or(nearest.model.as_ref()).or(config.model.as_ref());
        config.fast_model = Some(same_provider(source, "fast_model", spec, users)?);
    }
    let chosen = (config.model.clone(), config.fast_model.clone());
    config.project_models = (chosen != users).then_some(ProjectModels { chosen, users });
    if let (Some(mode), None) = (file.mode()?, nearest.mode) {
        config.mode = lowered_mode(source, &mode, config.mode)?;
    }
    add_rules(config, &file)?;
    let others = &mut config.external_tools;
    tool_servers::apply(others, file.mcp(), file.http_tools(), source, PolicyOrigin::Project)?;
    let others = config.external_tools.http_names();
    config.tool_policies = tools::with_projects(&config.tool_policies, file.tools(), source, &others)?;
    config.rules &= file.rules().unwrap_or(true);
    if let Some(sessions) = file.sessions() {
        let problem = "what is kept of your conversations is yours alone; set it in your own file";
        return Err(source.refuse(sessions.line, "sessions", problem));
    }
    config.suggestions &= file.suggestions().unwrap_or(true);
    config.speculation &= file.speculation().unwrap_or(true);
    if let Some(choice) = file.at_boundary()? {
        if config.at_boundary == AtBoundary::Discard && choice.value == AtBoundary::Commit {
            let problem = "a project can only have less of your work applied, and yours is discard";
            return Err(source.refuse(choice.line, "at_boundary", problem));
        }
        config.at_boundary = choice.value;
    }
    if let Some(choice) = file.ahead_writes()? {
        if config.ahead_writes == AheadWrites::Boundary && choice.value == AheadWrites::Ask {
            let problem = "a project can only have less done ahead, and yours is boundary";
            return Err(source.refuse(choice.line, "ahead_writes", problem));
        }
        config.ahead_writes = choice.value;
    }
    if let Some(choice) = file.after_decline()? {
        let problem = "what becomes of a turn after your no is yours alone; set it in your own file";
        return Err(source.refuse(choice.line, "after_decline", problem));
    }
    if let Some(choice) = file.staging()? {
        let problem = "when your own turns are written is yours alone; set it in your own file";
        return Err(source.refuse(choice.line, "staging", problem));
    }
    if let Some(choice) = file.matching()? {
        let problem = "what typed words take is only set in your own file";
        return Err(source.refuse(choice.line, "match", problem));
    }
    if let Some(choice) = file.tab()? {
        let problem = "a project cannot say what your keys do; set it in your own file";
        return Err(source.refuse(choice.line, "tab", problem));
    }
    screen::refuse_projects(&file)?;
    for (field, value) in file.counts()? {
        let users = field.of(config);
        if *users < value.value {
            let problem = format!("a project can only lower this, and yours is {users}");
            return Err(source.refuse(value.line, field.name(), problem));
        }
        *users = value.value;
    }
    apply_background(config, &file)?;
    budget::apply_projects(&mut config.background, file.budget(), source)?;
    index::apply(&mut config.index, file.index(), source, true)?;
    intel::apply_projects(&mut config.intel, file.intel(), source)?;
    shadow::apply_projects(&mut config.shadow, file.shadow(), source)?;
    web::refuse_projects(file.web(), source)?;
    per_model::refuse_old_prices(file.old_prices(), source)?;
    per_model::refuse_projects(file.models(), source)?;
    for (limit, value) in file.limits()? {
        let users = limit.get(&config.limits);
        if users < value.value {
            let problem = format!("a project can only lower a limit, and yours is {users}");
            return Err(source.refuse(value.line, limit.name(), problem));
        }
        limit.set(&mut config.limits, value.value);
    }
    Ok(())
}

/// Applies the fields about background work. A project may only have less done ahead.
fn apply_background(config: &mut Config, file: &File) -> Result<(), CliError> {
    if let Some(mode) = file.background()? {
        if config.background.mode < mode.value {
            let yours = budget::mode_name(config.background.mode);
            let problem = format!("a project can only do less ahead, and yours is {yours}");
            return Err(file.source().refuse(mode.line, "background", problem));
        }
        config.background.mode = mode.value;
    }
    // Without a ledger the caps of a day would not hold.
    if let Some(keep) = file.ledger()? {
        let problem = "what is kept of the work ahead is yours alone; set it in your own file";
        return Err(file.source().refuse(keep.line, "ledger", problem));
    }
    Ok(())
}

fn refuse_base_url(file: &File) -> Result<(), CliError> {
    match file.base_url()? {
        None => Ok(()),
        Some(url) => {
            let problem = "a project cannot choose where your conversation is sent; \
                           set it in your own file, HEADSTART_BASE_URL or --base-url";
            Err(file.source().refuse(url.line, "base_url", problem))
        }
    }
}

fn same_provider(
    source: &Source,
    field: &str,
    spec: Located<ModelSpec>,
    users: Option<&ModelSpec>,
) -> Result<ModelSpec, CliError> {
    let chosen = users.and_then(ModelSpec::provider);
    if chosen.is_some() && spec.value.provider() == chosen {
        return Ok(spec.value);
    }
    let problem = match users {
        Some(users) => format!("a project can only choose a model of your provider, and yours is {users}"),
        None => "a project can only choose a model of the provider that you have chosen; \
                 choose one in your own file, HEADSTART_MODEL or --model"
            .to_owned(),
    };
    Err(source.refuse(spec.line, field, problem))
}

fn lowered_mode(
    source: &Source,
    mode: &Located<ApprovalMode>,
    users: ApprovalMode,
) -> Result<ApprovalMode, CliError> {
    if rank(mode.value) <= rank(users) {
        return Ok(mode.value);
    }
    let problem =
        "a project cannot raise the approval mode; set it in your own file, HEADSTART_MODE or --mode";
    Err(source.refuse(mode.line, "mode", problem))
}

/// The rank of a mode. A higher rank means that more runs without a question.
fn rank(mode: ApprovalMode) -> u8 {
    match mode {
        ApprovalMode::Plan | ApprovalMode::Chat => 0,
        ApprovalMode::Default => 1,
        ApprovalMode::AutoEdit => 2,
        ApprovalMode::Yolo => 3,
    }
}
