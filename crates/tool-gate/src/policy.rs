//! Rules that a user or a project adds to what the gate knows by itself.

mod check;
mod options;
mod programs;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::PolicyOrigin;
pub(crate) use options::AllowedOption;
use options::StoppedOption;

/// The most policies of one origin.
const MAX_RULES: usize = 256;

/// Whether a policy lets a program run or stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PolicyDecision {
    /// The user vouches that it only reads: it runs if nothing else in the command is a boundary.
    Allow,
    /// It asks first, whatever the gate knows of it.
    Boundary,
}

/// What an allowed program may be given besides the listed words and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PolicyOperands {
    /// Nothing.
    #[default]
    None,
    /// Files and folders of the workspace.
    Files,
    /// Any text that names nothing outside the workspace.
    Any,
}

/// One policy, as it is written in a configuration file.
///
/// An allow applies to one program, and only to a command in which everything is listed, compared after quotes and
/// escapes are resolved. A boundary is compared generously: it also covers what may turn out to match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct PolicyRule {
    /// The program's name, without a path.
    pub program: String,
    /// The words that must follow the name: a subcommand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// For an allow: every option that may be given, as `--check`, `--format=json`, `--format=VALUE`,
    /// `--format VALUE` or `-jVALUE`. For a boundary: options of which one must be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// For an allow: options that must all be given, in the same forms; they need not be listed in `options` as well.
    /// An option behind `--` does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// For an allow: what else may be given. For a boundary, absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operands: Option<PolicyOperands>,
    /// Whether the program runs or asks.
    pub decision: PolicyDecision,
    /// The reason, for people; the verdict shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Commands that this policy must decide. They are tried when the policy is read.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<String>,
    /// Commands that this policy must not decide.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matching: Vec<String>,
}

/// Policies that were checked: each is enforceable, and its examples come out as written.
#[derive(Clone, Default)]
pub struct Policies {
    rules: Arc<Vec<Rule>>,
    /// Whether to note also the policies that match a command which needs none. Only examples need this.
    checks_examples: bool,
}

/// A policy together with what it is compared by.
pub(crate) struct Rule {
    origin: PolicyOrigin,
    /// Its number among the policies of its origin, from 1.
    number: usize,
    source: PolicyRule,
    pub(crate) how: PolicyMatch,
}

/// What a policy is compared by; the two decisions differ in it.
pub(crate) enum PolicyMatch {
    /// The first `required` of the options must all be given.
    Allow {
        options: Vec<AllowedOption>,
        required: usize,
        operands: PolicyOperands,
    },
    Boundary {
        options: Vec<StoppedOption>,
    },
}

impl Policies {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The policies of one origin, as they were written.
    pub fn of(&self, origin: PolicyOrigin) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter().filter(move |rule| rule.origin == origin).map(|rule| &rule.source)
    }

    pub(crate) fn checks_examples(&self) -> bool {
        self.checks_examples
    }

    /// The policies about a program, each with its index among all.
    pub(crate) fn about<'a>(&'a self, program: &'a str) -> impl Iterator<Item = (usize, &'a Rule)> {
        self.rules.iter().enumerate().filter(move |(_, rule)| rule.source.program == program)
    }

    /// The words with which a verdict names the policy at an index, and its reason.
    pub(crate) fn explain(&self, place: usize, does: &str) -> String {
        let Some(rule) = self.rules.get(place) else { return String::new() };
        match &rule.source.reason {
            Some(reason) => format!("{rule} {does}: {reason}"),
            None => format!("{rule} {does}"),
        }
    }
}

impl Rule {
    pub(crate) fn words(&self) -> &[String] {
        &self.source.words
    }
}

/// Written as in `the user's policy 2 (terraform show)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}'s policy {} ({}", self.origin, self.number, self.source.program)?;
        for word in &self.source.words {
            write!(f, " {word}")?;
        }
        write!(f, ")")
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| (rule.origin, &rule.source))).finish()
    }
}

impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        let rules = |policies: &'_ Self| -> Vec<(PolicyOrigin, PolicyRule)> {
            policies.rules.iter().map(|rule| (rule.origin, rule.source.clone())).collect()
        };
        rules(self) == rules(other)
    }
}

impl Eq for Policies {}
