//! Checks that a policy is enforceable.

use std::sync::Arc;

use super::options::{AllowedOption, StoppedOption};
use super::programs::never_allowed;
use super::{MAX_RULES, Policies, PolicyDecision, PolicyMatch, PolicyRule, Rule};
use crate::gate::judge_with_policies;
use crate::{Decision, GateContext, GateError, PolicyOrigin};

impl Policies {
    /// Checks policies and runs their examples through the gate.
    ///
    /// Examples are judged in the root of a workspace that has no name, without deny rules. Those of the user are
    /// judged without the project's policies, so that no repository can break a user's file.
    ///
    /// # Errors
    ///
    /// [`GateError::Policy`] names the first policy that is not enforceable (an allow by a project, a program that no
    /// policy can allow, an invalid option) or whose example comes out differently, with what the gate said.
    pub fn new(
        user: impl IntoIterator<Item = PolicyRule>,
        project: impl IntoIterator<Item = PolicyRule>,
    ) -> Result<Self, GateError> {
        let user = compile(PolicyOrigin::User, user)?;
        let of_user = user.len();
        let mut policies = Self { rules: Arc::new(user), checks_examples: true };
        examples(&policies, 0)?;
        let mut rules = Arc::into_inner(policies.rules).expect("works because nothing else held the rules");
        rules.extend(compile(PolicyOrigin::Project, project)?);
        policies = Self { rules: Arc::new(rules), checks_examples: true };
        examples(&policies, of_user)?;
        Ok(Self { checks_examples: false, ..policies })
    }
}

/// Checks the policies of one origin and prepares what they are compared by.
fn compile(
    origin: PolicyOrigin,
    rules: impl IntoIterator<Item = PolicyRule>,
) -> Result<Vec<Rule>, GateError> {
    let mut compiled = Vec::new();
    for (index, source) in rules.into_iter().enumerate() {
        let refused =
            |(field, problem): (&'static str, String)| GateError::Policy { origin, index, field, problem };
        if index == MAX_RULES {
            return Err(refused(("policy", format!("there are more than {MAX_RULES} of them"))));
        }
        let how = how(origin, &source).map_err(refused)?;
        compiled.push(Rule { origin, number: index + 1, source, how });
    }
    Ok(compiled)
}

type Problem = (&'static str, String);

fn how(origin: PolicyOrigin, rule: &PolicyRule) -> Result<PolicyMatch, Problem> {
    let allows = rule.decision == PolicyDecision::Allow;
    if allows && origin == PolicyOrigin::Project {
        let problem =
            "a project can only add boundaries; what may run without a question is for your own file to say";
        return Err(("decision", problem.to_owned()));
    }
    check_program(&rule.program, allows)?;
    if let Some(word) = rule.words.iter().find(|word| word.is_empty() || word.starts_with('-')) {
        return Err(("words", format!("{word:?} is no sub-command; options belong into `options`")));
    }
    let of_option = |option: &str, problem: String| ("options", format!("{option:?}: {problem}"));
    if !allows {
        if rule.operands.is_some() {
            return Err(("operands", "a boundary covers all operands".to_owned()));
        }
        if !rule.requires.is_empty() {
            let problem =
                "only an allow requires options; a boundary lists in `options` those of which one stops it";
            return Err(("requires", problem.to_owned()));
        }
        let parse =
            |option: &String| StoppedOption::parse(option).map_err(|problem| of_option(option, problem));
        return Ok(PolicyMatch::Boundary {
            options: rule.options.iter().map(parse).collect::<Result<_, _>>()?,
        });
    }
    let mut options = Vec::new();
    for option in &rule.requires {
        let problem = |problem| ("requires", format!("{option:?}: {problem}"));
        options.push(AllowedOption::parse(option).map_err(problem)?);
    }
    for option in &rule.options {
        options.push(AllowedOption::parse(option).map_err(|problem| of_option(option, problem))?);
    }
    let with_value = |word: &str| options.iter().any(|option| option.separate_name() == Some(word));
    let both = options.iter().find_map(|option| match option {
        AllowedOption::Word(word) if with_value(word) => Some(word),
        _ => None,
    });
    if let Some(word) = both {
        let problem = "it is listed alone and with a value of its own, so the word behind it could be either"
            .to_owned();
        return Err(of_option(word, problem));
    }
    let required = rule.requires.len();
    Ok(PolicyMatch::Allow { options, required, operands: rule.operands.unwrap_or_default() })
}

fn check_program(program: &str, allows: bool) -> Result<(), Problem> {
    let bad = |problem: &str| Err(("program", format!("{program:?}: {problem}")));
    if program.contains('/') {
        return bad("write the plain name; it also counts where the program is given as /usr/bin/NAME");
    }
    if program.is_empty()
        || program.chars().any(|character| character.is_control() || character.is_whitespace())
    {
        return bad("it is not the name of a program");
    }
    match never_allowed(program) {
        Some(why) if allows => bad(&format!("no policy can allow it: {why}")),
        _ => Ok(()),
    }
}

/// Judges the examples of the policies from index `first` on.
fn examples(policies: &Policies, first: usize) -> Result<(), GateError> {
    let context = GateContext { policies: policies.clone(), ..GateContext::default() };
    for (place, rule) in policies.rules.iter().enumerate().skip(first) {
        let all = rule.source.matching.iter().map(|example| (true, example));
        for (wanted, example) in all.chain(rule.source.not_matching.iter().map(|example| (false, example))) {
            if let Some(says) = disagreement(place, rule, wanted, example, &context) {
                return Err(GateError::Policy {
                    origin: rule.origin,
                    index: rule.number - 1,
                    field: if wanted { "match" } else { "not_match" },
                    problem: format!("{example:?} {says}"),
                });
            }
        }
    }
    Ok(())
}

/// What the gate says of an example, if that is not what the policy's author expects.
fn disagreement(
    place: usize,
    rule: &Rule,
    wanted: bool,
    example: &str,
    context: &GateContext,
) -> Option<String> {
    let (verdict, fitting) = judge_with_policies(example, context);
    let fits = fitting.contains(&place);
    let allowed = verdict.decision == Decision::Allow;
    let detail = &verdict.detail;
    match (rule.source.decision, wanted) {
        (PolicyDecision::Allow, true) if !allowed => {
            Some(format!("should be allowed, but it is a boundary: {detail}"))
        }
        (PolicyDecision::Allow, true) if !fits => Some(
            "should be allowed by this policy, which does not fit; the gate allows it by itself".to_owned(),
        ),
        (PolicyDecision::Allow, false) if allowed && fits => {
            Some("should not be allowed by this policy, but it is".to_owned())
        }
        (PolicyDecision::Boundary, true) if !fits => Some(if allowed {
            format!("should be stopped, but it is allowed: {detail}")
        } else {
            format!(
                "should be stopped by this policy, which does not fit; it is a boundary by itself: {detail}"
            )
        }),
        (PolicyDecision::Boundary, false) if fits => {
            Some("should not be stopped by this policy, but it is".to_owned())
        }
        _ => None,
    }
}
