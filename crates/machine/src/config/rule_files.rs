//! The rules in the configuration files, read again while a conversation is open.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use headstart_tool_gate::{DenyRules, GateContext, Policies, PolicyDecision, PolicyOrigin, PolicyRule};

use super::{Config, PROJECT_FILE, project, user_file};
use crate::environment::Environment;
use crate::error::CliError;

/// The user's file and the project's, of which new rules count as soon as they are written down.
///
/// What would loosen counts from the next start on: an editor that saves a file empties it for a moment.
#[derive(Debug)]
pub struct RuleFiles {
    environment: Environment,
    workspace: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    stamps: Option<[Option<Stamp>; 2]>,
    notices: Vec<String>,
}

/// The length and the time of a file.
type Stamp = (u64, Option<SystemTime>);

impl RuleFiles {
    /// The files of a workspace. They are read when they are first asked for.
    pub fn new(environment: &Environment, workspace: &Path) -> Self {
        Self { environment: environment.clone(), workspace: workspace.to_owned(), seen: Mutex::default() }
    }

    /// These rules with those that the files add to them; `None` if they add none, or have not changed since the last
    /// call. Where they cannot be read the rules stay, and the user is told.
    pub fn stricter(&self, rules: &GateContext) -> Option<GateContext> {
        let files = [user_file(&self.environment), Some(self.workspace.join(PROJECT_FILE))];
        let stamps = files.map(|file| {
            let found = file?.metadata().ok()?;
            Some((found.len(), found.modified().ok()))
        });
        let mut seen = self.lock();
        let is_first = seen.stamps.is_none();
        if seen.stamps.replace(stamps) == Some(stamps) {
            return None;
        }
        match self.read().and_then(|files| with(rules, &files)) {
            Ok(new) => {
                if new.is_some() && !is_first {
                    seen.notices
                        .push("the rules that the configuration has now count from here on".to_owned());
                }
                new
            }
            Err(error) => {
                let notice = format!(
                    "what the configuration says now does not count, and the rules of before do: {error}"
                );
                seen.notices.push(notice);
                None
            }
        }
    }

    /// What the user has not been told yet.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    fn read(&self) -> Result<Config, CliError> {
        let mut config = Config::of_user(&self.environment)?;
        project::apply_rules(&mut config, &self.workspace.join(PROJECT_FILE))?;
        Ok(config)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rules with those of files that they lack; `None` if they lack none.
fn with(rules: &GateContext, files: &Config) -> Result<Option<GateContext>, CliError> {
    let refused = |error: headstart_tool_gate::GateError| CliError::Unavailable(error.to_string());
    let known = rules.deny.rules();
    let new: Vec<_> = files.deny.iter().filter(|rule| !known.contains(rule)).cloned().collect();
    let closes_secrets = rules.deny.closes_secrets() || files.deny_defaults;
    let stops = |origin: PolicyOrigin| {
        let known: Vec<_> = rules.policies.of(origin).map(without_examples).collect();
        let new = files.policies.of(origin).filter(|rule| rule.decision == PolicyDecision::Boundary);
        let new = new.map(without_examples).filter(|rule| !known.contains(rule)).collect::<Vec<_>>();
        (known, new)
    };
    let ((users, new_users), (projects, new_projects)) =
        (stops(PolicyOrigin::User), stops(PolicyOrigin::Project));
    let has_new_policies = !new_users.is_empty() || !new_projects.is_empty();
    if new.is_empty() && closes_secrets == rules.deny.closes_secrets() && !has_new_policies {
        return Ok(None);
    }
    let deny = DenyRules::new(known.iter().cloned().chain(new)).map_err(refused)?;
    let deny = if closes_secrets { deny } else { deny.with_secrets_open() };
    let policies = if has_new_policies {
        let (users, projects) =
            (users.into_iter().chain(new_users), projects.into_iter().chain(new_projects));
        Policies::new(users, projects).map_err(refused)?
    } else {
        rules.policies.clone()
    };
    Ok(Some(GateContext { deny, policies, ..rules.clone() }))
}

/// A policy as it is enforced. Its examples were tried when its file was read, and are about that file alone.
fn without_examples(rule: &PolicyRule) -> PolicyRule {
    PolicyRule { matching: Vec::new(), not_matching: Vec::new(), ..rule.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_adds_rules_and_takes_none_away() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        let (user, project) = (at("config/headstart/config.toml"), at("project").join(PROJECT_FILE));
        std::fs::create_dir_all(project.parent().unwrap()).unwrap();
        let variable = ("XDG_CONFIG_HOME".into(), folder.path().join("config").into());
        let environment = [variable].into_iter().collect();
        let files = RuleFiles::new(&environment, &folder.path().join("project"));
        let mut rules = GateContext {
            deny: DenyRules::from_patterns(["a"]).unwrap().with_secrets_open(),
            ..Config::default().gate_context("/p".to_owned()).unwrap()
        };
        let look = |rules: &mut GateContext| match files.stricter(rules) {
            Some(new) => {
                *rules = new;
                true
            }
            None => false,
        };
        std::fs::write(&user, "deny = ['a']\ndeny_defaults = false\n").unwrap();
        assert!(!look(&mut rules), "the files say what counts already");
        let stop = "[[policy]]\nprogram = 'ls'\ndecision = 'boundary'\n";
        std::fs::write(&project, format!("deny = ['b']\n{stop}")).unwrap();
        assert!(look(&mut rules));
        let denied = |rules: &GateContext| {
            rules.deny.rules().iter().map(|rule| rule.0.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((denied(&rules).as_str(), rules.deny.closes_secrets()), ("a b", false));
        assert_eq!(rules.policies.of(PolicyOrigin::Project).count(), 1);
        assert!(!look(&mut rules), "nothing has changed");
        std::fs::write(&user, "").unwrap();
        assert!(look(&mut rules));
        assert_eq!((denied(&rules).as_str(), rules.deny.closes_secrets()), ("a b", true));
        std::fs::write(&project, "deny = [").unwrap();
        assert!(!look(&mut rules));
        let notices = files.notices();
        assert!(notices.last().is_some_and(|notice| notice.contains("does not count")), "{notices:?}");
        assert_eq!((denied(&rules).as_str(), files.notices().len()), ("a b", 0));
    }
}
