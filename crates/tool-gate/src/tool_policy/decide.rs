use std::cell::OnceCell;

use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value};

use super::{
    Layer, Rule, SimpleCommands, ToolPolicies, ToolPolicy, canonical, runs_commands, simple_commands,
};
use crate::path_pattern::folded;
use crate::{CallRef, Declaration, GateContext, PolicyOrigin, Role};

/// What the policies say about a tool or about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDecision {
    /// What becomes of it.
    pub policy: ToolPolicy,
    /// Whether an entry names the tool, and not only the default covers it.
    pub named: bool,
    /// The entry that says so, in words.
    pub why: String,
}

/// What one file says; `None` if it says nothing, and then the mode decides.
type Said = Option<ToolDecision>;

/// A command line with its simple commands, which are only read once a rule needs them.
struct Line<'a> {
    text: Option<&'a str>,
    commands: OnceCell<Option<SimpleCommands>>,
    /// Whether what it starts goes on after the call.
    outlives: bool,
}

impl<'a> Line<'a> {
    /// The line of a call, if its tool runs commands.
    fn of(call: CallRef<'a>, context: &GateContext) -> Self {
        let declared = context.declaration(call.name).or_else(|| Declaration::of_ours(call.name));
        let text = declared.and_then(|tool| tool.text_of(Role::Command, call.args).ok().flatten());
        let outlives = declared.is_some_and(|tool| tool.outlives_call(call.args));
        Self { text, commands: OnceCell::new(), outlives }
    }

    /// The simple commands; `None` if not all of the line is understood.
    fn commands(&self) -> Option<&SimpleCommands> {
        self.commands.get_or_init(|| simple_commands(self.text?)).as_ref()
    }
}

impl ToolPolicies {
    /// What is said about one call; `None` if nothing is, and then the mode decides.
    ///
    /// For a call of `shell` the strictest of its simple commands counts. If not all of the line is understood, every
    /// rule for a command that is stricter than what holds without rules counts, and no rule that is looser.
    pub fn decide(&self, call: CallRef<'_>, context: &GateContext) -> Said {
        if self.is_empty() && !is_on_request(canonical(call.name)) {
            return None;
        }
        let line = Line::of(call, context);
        let said = self.configured(call, &line, context);
        // What goes on behind a call, or gets its input from another command, is more than the user agreed to.
        let is_more = || line.outlives || line.commands().is_some_and(|commands| commands.is_piped);
        let in_session = self.session.decide(call, &line, context, PolicyOrigin::User);
        match in_session.filter(|said| said.policy == ToolPolicy::Automatic && !is_more()) {
            // The user was asked, and what they then said counts until the session ends.
            Some(yes) if said.as_ref().is_none_or(|said| said.policy != ToolPolicy::Exclude) => Some(yes),
            _ => said,
        }
    }

    /// As [`decide`](Self::decide) for work that runs ahead, for which answers to questions do not count.
    pub(crate) fn decide_ahead(&self, call: CallRef<'_>, context: &GateContext) -> Said {
        self.configured(call, &Line::of(call, context), context)
    }

    /// What the configuration files say.
    fn configured(&self, call: CallRef<'_>, line: &Line<'_>, context: &GateContext) -> Said {
        let [user, project] = &*self.layers;
        let said = [(user, PolicyOrigin::User), (project, PolicyOrigin::Project)]
            .map(|(layer, origin)| layer.decide(call, line, context, origin));
        stricter(said)
    }

    /// The number of rules about single calls of a tool.
    pub fn rules_about(&self, tool: &str) -> usize {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        rules.filter(|rule| rule.tool.fits(canonical(tool).as_bytes())).count()
    }

    /// What is said about all calls of a tool, without the rules for single calls.
    pub fn of_tool(&self, tool: &str) -> Said {
        let [user, project] = &*self.layers;
        stricter([user.of_tool(tool, PolicyOrigin::User), project.of_tool(tool, PolicyOrigin::Project)])
    }
}

/// Whether the tool is only offered if the user's own file names it.
fn is_on_request(name: &str) -> bool {
    Declaration::of_ours(name).is_some_and(Declaration::is_on_request)
}

/// What the user says, or what the project says if that is stricter.
fn stricter([user, project]: [Said; 2]) -> Said {
    if project.is_some() && rank(&user) < rank(&project) { project } else { user }
}

/// Orders policies by strictness; saying nothing stands between automatic and ask, because the mode decides then.
fn rank(said: &Said) -> (u8, bool) {
    match said {
        Some(ToolDecision { policy: ToolPolicy::Automatic, .. }) => (0, false),
        None => (1, false),
        Some(ToolDecision { policy: ToolPolicy::Ask, named, .. }) => (2, *named),
        Some(ToolDecision { policy: ToolPolicy::Exclude, .. }) => (3, false),
    }
}

impl Layer {
    fn of_tool(&self, tool: &str, origin: PolicyOrigin) -> Said {
        let name = canonical(tool);
        let on_request = origin == PolicyOrigin::User && is_on_request(name);
        let named = self
            .named
            .iter()
            .find(|(pattern, ..)| pattern.fits(name.as_bytes()) && !(on_request && pattern.is_open()));
        let decision = |policy: ToolPolicy, named, key: &str| ToolDecision {
            policy,
            named,
            why: format!("[tools] of the {origin} says {key} = {:?}", policy.as_str()),
        };
        match (named, self.source.default) {
            (Some((_, written, policy)), _) => Some(decision(*policy, true, written)),
            (None, _) if on_request => Some(ToolDecision {
                policy: ToolPolicy::Exclude,
                named: false,
                why: format!("it is offered where [tools] of the user names it: {name} = \"ask\""),
            }),
            (None, default) => default.map(|policy| decision(policy, false, "default")),
        }
    }

    fn decide(
        &self,
        call: CallRef<'_>,
        line: &Line<'_>,
        context: &GateContext,
        origin: PolicyOrigin,
    ) -> Said {
        let name = canonical(call.name);
        let base = self.of_tool(name, origin);
        let rules: Vec<_> =
            self.rules.iter().enumerate().filter(|(_, rule)| rule.tool.fits(name.as_bytes())).collect();
        let of_rule = |index: usize, policy: ToolPolicy| {
            let why = format!("rule {} of the {origin}'s [tools] says {:?}", index + 1, policy.as_str());
            Some(ToolDecision { policy, named: true, why })
        };
        if rules.is_empty() {
            return base;
        }
        if !runs_commands(name) {
            let fits = rules.iter().find(|(_, rule)| rule.fits_arguments(call, context));
            return fits.map_or(base, |(index, rule)| of_rule(*index, rule.policy));
        }
        let rules: Vec<_> =
            rules.into_iter().filter(|(_, rule)| rule.fits_arguments(call, context)).collect();
        let Some(commands) = line.commands() else {
            return in_doubt(&rules, base, of_rule);
        };
        let of_command = |command: &Vec<Vec<u8>>| {
            let first = rules.iter().find(|(_, rule)| rule.fits_command(command));
            first.map_or_else(|| base.clone(), |(index, rule)| of_rule(*index, rule.policy))
        };
        commands.words.iter().map(of_command).max_by_key(rank).unwrap_or(base)
    }
}

/// What is said about a line that is not understood: no rule with a command lets it run, and each stricter rule may
/// be about it.
fn in_doubt(rules: &[(usize, &Rule)], base: Said, of_rule: impl Fn(usize, ToolPolicy) -> Said) -> Said {
    for (index, rule) in rules {
        match rule {
            Rule { command: None, policy, .. } => return of_rule(*index, *policy),
            Rule { policy: ToolPolicy::Automatic, .. } => {}
            Rule { .. } if rank(&base) < (2, true) => {
                let said = of_rule(*index, ToolPolicy::Ask);
                return said.map(|said| ToolDecision {
                    why: format!("{}, which may be about this command", said.why),
                    ..said
                });
            }
            Rule { .. } => {}
        }
    }
    base
}

impl Rule {
    /// Whether the arguments other than a command match the rule. A path that is not inside the workspace matches
    /// only rules that let nothing run.
    fn fits_arguments(&self, call: CallRef<'_>, context: &GateContext) -> bool {
        let strict = self.policy != ToolPolicy::Automatic;
        // A command that is compared as text says nothing about the commands in it.
        let declared = context.declaration(call.name).or_else(|| Declaration::of_ours(call.name));
        let is_command = |argument: &str| declared.is_some_and(|tool| tool.takes(Role::Command, argument));
        let others = self.others.iter().all(|(argument, pattern)| match call.args.get(argument) {
            Some(_) if !strict && is_command(argument) => false,
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => pattern.fits(text.as_bytes()),
            Some(other) => pattern.fits(other.to_string().as_bytes()),
        });
        let folder = self.folder.as_ref().is_none_or(|pattern| match folder_of(call, context) {
            Ok(folder) => pattern.fits(folder.to_string().as_bytes()),
            Err(()) => strict,
        });
        others
            && folder
            && self.path.as_ref().is_none_or(|pattern| match path_of(call.name, call.args, context) {
                Ok(Some(path)) if strict => {
                    pattern.covers(path.as_bytes(), folded(path.as_bytes()).as_bytes())
                }
                Ok(Some(path)) => pattern.matches(path.as_bytes()),
                Ok(None) => false,
                Err(()) => strict,
            })
    }

    fn fits_command(&self, command: &[Vec<u8>]) -> bool {
        let Some(words) = &self.command else { return true };
        words.fit(command) || self.policy != ToolPolicy::Automatic && words.may_fit(command)
    }
}

/// The folder in which a command would run.
pub(super) fn folder_of(call: CallRef<'_>, context: &GateContext) -> Result<WorkspacePath, ()> {
    let declared = context.declaration(call.name).or_else(|| Declaration::of_ours(call.name)).ok_or(())?;
    let named = declared.text_of(Role::Folder, call.args).map_err(|_| ())?;
    named.map_or(Ok(WorkspacePath::root()), |named| context.resolve(named).map_err(|_| ()))
}

/// The path that a call is about.
pub(super) fn path_of(
    tool: &str,
    args: &Map<String, Value>,
    context: &GateContext,
) -> Result<Option<WorkspacePath>, ()> {
    let text = match context.declaration(tool) {
        Some(declared) if declared.runs_commands() => declared.path_argument(args).map_err(|_| ())?,
        Some(declared) => match declared.paths_in(args).map_err(|_| ())?.as_slice() {
            [] => None,
            [(_, one)] => Some(*one),
            _ => return Err(()),
        },
        // For a tool that nobody declares the usual names of arguments are used, and each of them may count.
        None => {
            let mut named = ["path", "file_path"].into_iter().filter_map(|name| args.get(name));
            let path = named.find(|value| !value.is_null());
            if named.any(|value| !value.is_null()) {
                return Err(());
            }
            path.map(|path| path.as_str().ok_or(())).transpose()?
        }
    };
    text.map(|text| context.resolve(text).map_err(|_| ())).transpose()
}
