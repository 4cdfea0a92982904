//! The folders in which sessions work: their configuration, ledger, views and trees.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headstart_agent::native::real_path;
use headstart_agent::{LedgerStore as _, Runtime as _};
use headstart_budget::PendingWrites;
use headstart_budget::policy::{Mode, Tariff};
use headstart_forked_query::Prices;
use headstart_machine::config::{Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::conversation::{AccountFiles, Accounts, conversation_id};
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_machine::{clock, output};
use headstart_overlay_fs::{ContentHash, OsTree, Process};
use headstart_tool_gate::{AheadWrites, DenyRule, DenyRules, GateContext};
use tokio::task::JoinHandle;

use super::permission::PermissionRules;
use super::profiles::AgentProfile;
use super::relay::{Host, Project};
use super::second_agent::{self, SecondPlan};
use super::stand_in::StandIn;
use super::state::FOLDER;
use crate::hosts::hooks::execution_context;

/// All folders that one proxy works in.
pub(super) struct Projects {
    context: Context,
    command: Vec<String>,
    profile: Option<&'static AgentProfile>,
    stand_in: Option<Arc<StandIn>>,
    open: HashMap<String, OpenFolder>,
    beginning: String,
    ids: u64,
    writing: Vec<JoinHandle<()>>,
}

struct OpenFolder {
    config: Config,
    store: Arc<AccountFiles>,
    /// Made when it is first needed, because making it reads the disk.
    plan: Option<SecondPlan>,
    tree: Option<Arc<OsTree>>,
}

/// The folders, shared between tasks and threads.
#[derive(Clone)]
pub(super) struct SharedProjects(Arc<Mutex<Projects>>);

impl SharedProjects {
    pub(super) fn new(projects: Projects) -> Self {
        Self(Arc::new(Mutex::new(projects)))
    }

    fn lock(&self) -> MutexGuard<'_, Projects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn plan(&self, folder: &str) -> Result<SecondPlan, String> {
        self.lock().plan(folder)
    }

    pub(super) fn tree(&self, folder: &str) -> Result<Arc<OsTree>, String> {
        self.lock().tree(folder)
    }

    /// Whether these changes were committed in a folder. The folder may not exist any more.
    pub(super) fn has_committed(&self, folder: &str, changes: ContentHash) -> Result<bool, String> {
        let folder = Path::new(folder);
        if !folder.is_dir() {
            return Ok(false);
        }
        let tree = setup::tree(folder, self.lock().state().as_deref(), AcceptingProcess::This);
        let tree = tree.map_err(|error| error.to_string())?;
        tree.has_committed(changes).map_err(|error| error.to_string())
    }

    /// Adds to the ledger of a folder, without waiting for the disk.
    pub(super) fn write(&self, folder: &str, pending_writes: PendingWrites) {
        let mut projects = self.lock();
        let Some(store) = projects.open.get(folder).map(|open| Arc::clone(&open.store)) else { return };
        projects.writing.retain(|writing| !writing.is_finished());
        projects.writing.push(tokio::spawn(async move {
            if let Err(error) = store.append(pending_writes).await {
                output::note(&format!("headstart: {error}"));
            }
        }));
    }

    /// Waits until the ledgers have been written.
    pub(super) async fn written(&self) {
        let writing = std::mem::take(&mut self.lock().writing);
        futures::future::join_all(writing).await;
    }
}

impl Host for SharedProjects {
    fn now(&self) -> u64 {
        clock::unix_ms()
    }

    fn project(&mut self, folder: &str) -> Option<Project> {
        let mut projects = self.lock();
        match projects.project(folder) {
            Ok(project) => project,
            Err(why) => {
                output::note(&format!("headstart: nothing runs ahead in {folder}: {why}"));
                None
            }
        }
    }

    fn process(&self) -> Process {
        Process::current()
    }

    fn id(&mut self) -> String {
        let mut projects = self.lock();
        projects.ids += 1;
        format!("{}-{}", projects.beginning, projects.ids)
    }
}

impl Projects {
    pub(super) fn new(
        context: Context,
        command: Vec<String>,
        profile: Option<&'static AgentProfile>,
    ) -> Self {
        Self {
            context,
            command,
            profile,
            stand_in: None,
            open: HashMap::new(),
            beginning: conversation_id(),
            ids: 0,
            writing: Vec::new(),
        }
    }

    fn project(&mut self, folder: &str) -> Result<Option<Project>, String> {
        let to_text = |error: &dyn std::fmt::Display| error.to_string();
        let path = Path::new(folder);
        let real = real_path(path).map_err(|error| to_text(&error))?;
        if real != path {
            return Err(format!("it is reached through a link; its own path is {}", real.display()));
        }
        let config = self.context.config(&Flags::default(), path).map_err(|error| to_text(&error))?;
        if config.background.mode == Mode::Off || !config.suggestions {
            return Ok(None);
        }
        let model = self.profile.map_or("agent", |profile| profile.name);
        let accounts =
            Accounts::of_agent(&self.context, &config, folder, Tariff::new(model, Prices::default()));
        let accounts = accounts.map_err(|error| to_text(&error))?;
        if !accounts.trouble.is_empty() {
            output::note(&format!("headstart: {}", accounts.trouble));
        }
        let mut metering = accounts.metering;
        metering.set_machine(accounts.runtime.machine());
        let gate = config.gate_context(folder.to_owned()).map_err(|error| to_text(&error))?;
        let gate = GateContext { views: true, ahead_writes: AheadWrites::Ask, ..gate };
        let variables = second_agent::variables(&self.context.environment, path);
        let search_path = variables.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
        let root = execution_context::project_root(path, &self.context.environment).to_owned();
        let programs = move |names: &[String]| execution_context::of_programs(&search_path, names, &root);
        let project = Project {
            metering,
            rules: PermissionRules { gate, programs: Box::new(programs) },
            mode: config.mode,
            speculation: config.speculation && config.shadow.enabled,
            most_ms: u64::try_from(config.limits.time.as_millis()).unwrap_or(u64::MAX),
        };
        let open = OpenFolder { config, store: Arc::new(accounts.store), plan: None, tree: None };
        self.open.insert(folder.to_owned(), open);
        Ok(Some(project))
    }

    fn state(&self) -> Option<PathBuf> {
        self.context.store().ok().map(|store| store.state_folder().to_owned())
    }

    fn tree(&mut self, folder: &str) -> Result<Arc<OsTree>, String> {
        let state = self.state();
        let open = self.open.get_mut(folder).ok_or("the folder is not known")?;
        if let Some(tree) = &open.tree {
            return Ok(Arc::clone(tree));
        }
        let tree = setup::tree(Path::new(folder), state.as_deref(), AcceptingProcess::This);
        let tree = Arc::new(tree.map_err(|error| error.to_string())?);
        open.tree = Some(Arc::clone(&tree));
        Ok(tree)
    }

    fn plan(&mut self, folder: &str) -> Result<SecondPlan, String> {
        let profile = self.profile.ok_or("the agent is not known")?;
        let tree = self.tree(folder)?;
        let state = self.state();
        if let (None, Some(sandbox)) = (&self.stand_in, &profile.sandbox) {
            let stand_in_folder = state.as_deref().ok_or("there is no state folder")?.join(FOLDER);
            let made = StandIn::new(&stand_in_folder, sandbox.program).map_err(|error| error.to_string())?;
            self.stand_in = Some(Arc::new(made));
        }
        let environment = &self.context.environment;
        let open = self.open.get_mut(folder).ok_or("the folder is not known")?;
        if let Some(plan) = &open.plan {
            return Ok(plan.clone());
        }
        let path = Path::new(folder);
        let needs = second_agent::needs(profile, &self.command, environment, path, self.stand_in.as_deref())?;
        let views = setup::any_views(&open.config, folder, environment, state.as_deref()).for_agent(needs);
        let rules = open.config.gate_context(folder.to_owned()).map_err(|error| error.to_string())?;
        let closed = profile.closes.iter().map(|pattern| DenyRule((*pattern).to_owned()));
        let with_closed = DenyRules::new(rules.deny.rules().iter().cloned().chain(closed));
        let with_closed = with_closed.map_err(|error| error.to_string())?;
        let deny = if rules.deny.closes_secrets() { with_closed } else { with_closed.with_secrets_open() };
        let plan = SecondPlan {
            profile,
            command: self.command.clone(),
            views: Arc::new(views),
            deny,
            folder: path.to_owned(),
            environment: environment.clone(),
            tree,
            stand_in: self.stand_in.clone(),
        };
        open.plan = Some(plan.clone());
        Ok(plan)
    }
}
