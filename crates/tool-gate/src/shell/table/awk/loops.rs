//! Loops and functions of an awk program that cannot end.

use super::{FUNCTIONS, KEYWORDS, Token};
use crate::shell::names::listed;
use crate::shell::progress::{Change, Sum, compared, never_ends};

const UNCHANGED: &str = "a loop in the awk program whose condition never changes";
/// Statements that leave a loop or a function.
const LEAVES: &str = "break exit return next nextfile";
/// Functions that change their arguments or the current line.
const CHANGES: &str = "getline sub gsub split patsplit asort asorti rand";
const ASSIGNS: [&[u8]; 10] = [b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"^=", b"**=", b"++", b"--"];

/// Why a program does not end; `None` if it may. `defined` are the functions that it defines.
pub(super) fn endless(tokens: &[Token<'_>], defined: &[&str]) -> Option<&'static str> {
    let within_do = tokens.contains(&Token::Name("do"));
    for (place, token) in tokens.iter().enumerate() {
        let Token::Name(name @ ("while" | "for")) = token else { continue };
        let Some((header, after)) = enclosed(&tokens[place + 1..]) else { continue };
        // The body of a `do` stands before its condition. For simplicity the whole program counts as the body.
        let body = if within_do { tokens } else { statement(after) };
        let parts: Vec<&[Token<'_>]> = header.split(|token| *token == Token::Operator(b";")).collect();
        let why = match (*name, parts.as_slice()) {
            ("while", [condition]) => endless_loop(condition, &[body, condition], defined),
            ("for", [_, condition, step]) => endless_loop(condition, &[body, condition, step], defined),
            _ => None,
        };
        if why.is_some() {
            return why;
        }
    }
    endless_function(tokens, defined)
}

fn endless_loop(condition: &[Token<'_>], parts: &[&[Token<'_>]], defined: &[&str]) -> Option<&'static str> {
    let all = || parts.iter().flat_map(|part| part.iter());
    let named = |list: &str| all().any(|token| matches!(token, Token::Name(name) if listed(list, name)));
    let calls = all().any(|token| matches!(token, Token::Name(name) if defined.contains(name)));
    if named(LEAVES) || named("getline rand") || calls {
        return None;
    }
    let mut seen = condition.iter().filter_map(seen).peekable();
    if seen.peek().is_none() || !seen.any(|name| parts.iter().any(|part| may_change(part, name))) {
        return Some(UNCHANGED);
    }
    let (left, compare, right) = compared(&text(condition)?)?;
    let change = |name: &str| {
        let changes = parts.iter().flat_map(|part| changes(part, name));
        changes.fold(Change::NONE, Change::perhaps)
    };
    never_ends(&left, compare, &right, &change, &|_| None)
}

/// The variable that a token of a condition depends on; `$` for the line.
fn seen<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token {
        Token::Name(name) if !listed(FUNCTIONS, name) && !listed(KEYWORDS, name) => Some(name),
        // A pattern alone, or one of these functions without an argument, looks at the line.
        Token::Name("length" | "match") | Token::Regex | Token::Operator(b"$") => Some("$"),
        _ => None,
    }
}

/// Whether a statement may change a variable, an element of an array of that name, or the line (`$`).
fn may_change(tokens: &[Token<'_>], name: &str) -> bool {
    let assigns = |token: Option<&Token<'_>>| matches!(token, Some(Token::Operator(operator)) if ASSIGNS.contains(operator));
    let by_call = tokens.iter().any(|token| matches!(token, Token::Name(call) if listed(CHANGES, call)));
    if name == "$" || matches!(name, "NF" | "RSTART" | "RLENGTH") {
        let matches = name != "$" && tokens.contains(&Token::Name("match"));
        return by_call || matches || tokens.iter().any(|token| assigns(Some(token)));
    }
    tokens.iter().enumerate().any(|(place, token)| {
        if *token != Token::Name(name) {
            return false;
        }
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        let next = tokens.get(place + 1);
        let element = next == Some(&Token::Operator(b"["));
        by_call
            || element
            || assigns(next)
            || matches!(before, Some(Token::Operator(b"++" | b"--") | Token::Name("delete")))
            || matches!(next, Some(Token::Name("in")))
    })
}

/// What each assignment in a statement does to a variable.
fn changes(tokens: &[Token<'_>], name: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if *token != Token::Name(name) {
            continue;
        }
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        let change = match (before, tokens.get(place + 1)) {
            (Some(Token::Operator(b"++")), _) | (_, Some(Token::Operator(b"++"))) => Change::Add(1),
            (Some(Token::Operator(b"--")), _) | (_, Some(Token::Operator(b"--"))) => Change::Add(-1),
            (_, Some(Token::Operator(operator))) if ASSIGNS.contains(operator) => {
                let value = &tokens[place + 2..];
                let end = value.iter().position(|token| {
                    matches!(token, Token::Newline | Token::Operator(b";" | b"}" | b")" | b","))
                });
                let sum = text(&value[..end.unwrap_or(value.len())]).and_then(|text| Sum::read(&text));
                let change = sum.map_or(Change::Unknown, |sum| sum.assigned_to(name, &|_| None));
                match (*operator, change) {
                    (b"=", change) => change,
                    (b"+=", Change::Set(number)) => Change::Add(number),
                    (b"-=", Change::Set(number)) => Change::Add(number.saturating_neg()),
                    _ => Change::Unknown,
                }
            }
            (_, Some(Token::Operator(b"[") | Token::Name("in"))) => Change::Unknown,
            _ => continue,
        };
        changes.push(change);
    }
    if tokens.iter().any(|token| matches!(token, Token::Name(call) if listed(CHANGES, call))) {
        changes.push(Change::Unknown);
    }
    changes
}

/// Finds a function that calls itself without a condition, or with the same arguments.
fn endless_function(tokens: &[Token<'_>], defined: &[&str]) -> Option<&'static str> {
    let bodies: Vec<(&str, &[Token<'_>], &[Token<'_>])> = tokens
        .iter()
        .enumerate()
        .filter_map(|(place, token)| match (token, tokens.get(place + 1)) {
            (Token::Name("function" | "func"), Some(Token::Name(name))) => {
                let (parameters, after) = enclosed(&tokens[place + 2..])?;
                Some((*name, parameters, statement(after)))
            }
            _ => None,
        })
        .collect();
    let has_condition = |body: &[Token<'_>]| {
        body.iter().any(|token| match token {
            Token::Name(name) => listed("if while for do switch exit getline", name),
            Token::Operator(operator) => matches!(*operator, b"?" | b"&&" | b"||"),
            _ => false,
        })
    };
    // Functions that call each other in a circle without any condition do not end either.
    let calls = |body: &[Token<'_>]| -> Vec<usize> {
        let called = |name: &&str| body.contains(&Token::Name(name));
        (0..bodies.len()).filter(|place| called(&bodies[*place].0)).collect()
    };
    for (place, (name, parameters, body)) in bodies.iter().enumerate() {
        let mut reached: Vec<usize> = Vec::new();
        let mut open = vec![place];
        while let Some(next) = open.pop() {
            if has_condition(bodies[next].2) {
                continue;
            }
            for called in calls(bodies[next].2) {
                if !reached.contains(&called) {
                    reached.push(called);
                    open.push(called);
                }
            }
        }
        if reached.contains(&place) {
            return Some("a function in the awk program that calls itself whatever it is given");
        }
        let pure = !body.iter().any(|token| match token {
            Token::Name(name) => {
                listed(CHANGES, name) || (defined.contains(name) && *name != bodies[place].0)
            }
            Token::Operator(operator) => ASSIGNS.contains(operator),
            _ => false,
        });
        let same = body.iter().enumerate().any(|(at, token)| {
            *token == Token::Name(name)
                && enclosed(&body[at + 1..]).is_some_and(|(arguments, _)| arguments == *parameters)
        });
        if pure && same {
            return Some("a function in the awk program that calls itself with what it was given");
        }
    }
    None
}

/// The tokens between the parentheses with which `tokens` start, and those behind.
fn enclosed<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<(&'a [Token<'b>], &'a [Token<'b>])> {
    balanced(tokens, b"(", b")")
}

fn balanced<'a, 'b>(
    tokens: &'a [Token<'b>],
    open: &[u8],
    close: &[u8],
) -> Option<(&'a [Token<'b>], &'a [Token<'b>])> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            Token::Operator(operator) if *operator == open => depth += 1,
            Token::Operator(operator) if *operator == close => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (0 < place).then(|| (&tokens[1..place], &tokens[place + 1..]));
        }
    }
    None
}

/// The statement with which `tokens` start. Without braces it may include more than that.
fn statement<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
    let start = tokens.iter().position(|token| *token != Token::Newline).unwrap_or(tokens.len());
    let tokens = &tokens[start..];
    if let Some((body, _)) = balanced(tokens, b"{", b"}").filter(|_| tokens[0] == Token::Operator(b"{")) {
        return body;
    }
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| match token {
        Token::Operator(b"{") => {
            depth += 1;
            false
        }
        Token::Operator(b"}") if depth == 0 => true,
        Token::Operator(b"}") => {
            depth -= 1;
            false
        }
        _ => false,
    });
    &tokens[..end.unwrap_or(tokens.len())]
}

/// An expression of names, numbers and operators as text.
fn text(tokens: &[Token<'_>]) -> Option<String> {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Name(name) if !listed(KEYWORDS, name) => text.push_str(name),
            Token::Number(number) | Token::Operator(number) => {
                text.push_str(std::str::from_utf8(number).ok()?);
            }
            _ => return None,
        }
        // Two operands side by side are concatenated in awk.
        text.push(' ');
    }
    let joined = tokens.windows(2).any(|pair| {
        let operand = |token: &Token<'_>| matches!(token, Token::Name(_) | Token::Number(_));
        operand(&pair[0]) && operand(&pair[1])
    });
    (!joined).then_some(text)
}
