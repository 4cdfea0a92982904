//! `awk`: its options, and its programs, which are read as tokens.

use crate::EffectKind::{self, Environment, Executes, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const AWK: Spec = Spec {
    flags: "bcPStVh",
    values: "Fv",
    long: "field-separator= assign= characters-as-bytes traditional posix sandbox lint? lint-old re-interval non-decimal-data \
           use-lc-numeric optimize no-optimize copyright csv version help",
    abbreviates: false,
    stops: true,
    ..Spec::new(&["awk"], Operands::Custom)
};

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let args: Vec<Arg> = args.iter().map(Arg::with_number_first).collect();
    let parsed = parse(judge, &AWK, &args);
    let Some((program, files)) = parsed.operands.split_first() else {
        if !parsed.has(&["help", "version"]) {
            judge.unknown("awk without a program", span);
        }
        return;
    };
    let Some(readings) = program.readings_by_number() else {
        return judge.refuse(Executes, "an awk program that is not known before it runs", program.span);
    };
    for text in &readings {
        match check(text) {
            // The name of a file in the program would depend on the number.
            Ok(further) if !program.exact && !further.is_empty() => {
                judge.refuse(Executes, "an awk program that is not known before it runs", program.span);
            }
            Ok(further) => {
                for name in further {
                    judge.read_file(&Arg::exact(name, program.span));
                }
            }
            Err((kind, detail)) => judge.refuse(kind, detail, program.span),
        }
    }
    for file in files.iter().filter(|file| !file.is("-")) {
        judge.read_file(file);
    }
}

type Refused = (EffectKind, &'static str);

/// Functions that only compute.
pub(super) const FUNCTIONS: &str = "length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper \
    close fflush gensub strftime systime mktime strtonum and or xor lshift rshift compl asort asorti patsplit typeof isarray";
const KEYWORDS: &str = "BEGIN END if else while for do break continue next exit return delete in function func print printf switch \
    case default nextfile";
/// Names with which a program reaches beyond its input.
const REFUSED: &str = "system ARGV ARGC ENVIRON PROCINFO SYMTAB FUNCTAB BEGINFILE ENDFILE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Number(&'a [u8]),
    Text(&'a [u8]),
    Regex,
    Newline,
    Operator(&'a [u8]),
}

/// Checks that a program only reads and prints. Returns the files that it reads by `getline < "name"`.
pub(super) fn check(program: &[u8]) -> Result<Vec<Vec<u8>>, Refused> {
    let tokens = tokens(program)?;
    let defined: Vec<&str> = tokens
        .windows(2)
        .filter_map(|pair| match pair {
            [Token::Name("function" | "func"), Token::Name(name)] => Some(*name),
            _ => None,
        })
        .collect();
    let mut printing = false;
    let mut inside = 0_usize;
    let mut reads = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let next = tokens.get(place + 1);
        match token {
            Token::Name(name) if listed(REFUSED, name) => {
                let kind = if *name == "ENVIRON" { Environment } else { Executes };
                return Err((kind, "the awk program reaches beyond its input"));
            }
            Token::Name("getline") => {
                if let Some(name) = getline_file(&tokens[place + 1..])? {
                    reads.push(name);
                }
            }
            Token::Name("print" | "printf") => {
                printing = true;
                inside = 0;
            }
            Token::Name(name)
                if next == Some(&Token::Operator(b"("))
                    && !listed(FUNCTIONS, name)
                    && !listed(KEYWORDS, name)
                    && !defined.contains(name) =>
            {
                return Err((EffectKind::Unknown, "the awk program calls a function that is not understood"));
            }
            Token::Operator(b"|" | b"|&" | b">>") => {
                return Err((Executes, "the awk program writes to a command or file"));
            }
            Token::Operator(b"(") if printing => inside += 1,
            Token::Operator(b")") if printing => inside = inside.saturating_sub(1),
            // In a `print` this operator is a redirection, unless parentheses make it part of an expression.
            Token::Operator(b">") if printing && inside == 0 && !to_terminal(&tokens[place + 1..]) => {
                return Err((WritesWorkspace, "the awk program writes a file"));
            }
            Token::Operator(b"@") => return Err((Executes, "the awk program loads or calls by name")),
            Token::Operator(b";" | b"}") => printing = false,
            Token::Newline if !continues(&tokens[..place]) => printing = false,
            _ => {}
        }
    }
    Ok(reads)
}

/// The file that `getline` reads, from the tokens behind it; `None` if it reads on in the input.
fn getline_file(rest: &[Token<'_>]) -> Result<Option<Vec<u8>>, Refused> {
    let unknown = (EffectKind::Unknown, "a getline in the awk program that is not understood");
    let after = match rest {
        // Only a plain variable may stand here, because a field or an element could be written in many ways.
        [Token::Name(name), rest @ ..] if !listed(KEYWORDS, name) => rest,
        rest => rest,
    };
    match after {
        [Token::Operator(b"<"), Token::Text(text), next @ ..] => {
            // A further operand behind the name would be joined to it.
            let ends = matches!(
                next.first(),
                None | Some(Token::Newline | Token::Operator(b")" | b";" | b"}" | b"&&" | b"||"))
            );
            let name = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
            let plain = name.filter(|name| ends && !name.contains(&b'\\') && *name != b"-");
            plain.map(|name| Some(name.to_vec())).ok_or(unknown)
        }
        []
        | [Token::Newline | Token::Operator(b")" | b";" | b"}" | b"&&" | b"||" | b">" | b"==" | b"!="), ..] => {
            Ok(None)
        }
        _ => Err(unknown),
    }
}

/// Whether the target of a redirection is where the program prints anyway.
fn to_terminal(target: &[Token<'_>]) -> bool {
    let ends = |rest: &[Token<'_>]| {
        matches!(rest.first(), None | Some(Token::Newline | Token::Operator(b";" | b"}")))
    };
    match target {
        [Token::Text(name), rest @ ..] => {
            matches!(*name, b"\"/dev/stderr\"" | b"\"/dev/stdout\"") && ends(rest)
        }
        _ => false,
    }
}

/// Whether a newline behind `tokens` does not end the statement.
fn continues(tokens: &[Token<'_>]) -> bool {
    match tokens.last() {
        Some(Token::Name(name)) => matches!(*name, "do" | "else" | "in"),
        Some(Token::Operator(operator)) => !matches!(*operator, b")" | b"]" | b"++" | b"--" | b";" | b"}"),
        Some(Token::Number(_) | Token::Text(_) | Token::Regex | Token::Newline) | None => false,
    }
}

fn tokens(program: &[u8]) -> Result<Vec<Token<'_>>, Refused> {
    let unknown = |detail| Err((EffectKind::Unknown, detail));
    let mut tokens: Vec<Token<'_>> = Vec::new();
    // For each open parenthesis, whether it belongs to `if`, `while` or `for`.
    let mut open: Vec<bool> = Vec::new();
    let mut after_condition = false;
    let mut at = 0;
    while let Some(byte) = program.get(at).copied() {
        let start = at;
        at += 1;
        let operand_before = match tokens.last() {
            Some(Token::Number(_) | Token::Text(_) | Token::Regex) => true,
            Some(Token::Name(name)) if byte == b'/' && listed(FUNCTIONS, name) => {
                return unknown("a slash in the awk program that has two readings");
            }
            Some(Token::Name(name)) => !listed(KEYWORDS, name),
            Some(Token::Operator(operator)) => match *operator {
                b")" if after_condition && byte == b'/' => {
                    return unknown("a slash in the awk program that has two readings");
                }
                b")" | b"]" => true,
                b"++" | b"--" if byte == b'/' => {
                    return unknown("a slash in the awk program that has two readings");
                }
                _ => false,
            },
            _ => false,
        };
        match byte {
            b' ' | b'\t' => {}
            b'\n' => tokens.push(Token::Newline),
            b'\\' if program.get(at) == Some(&b'\n') => {
                at += 1;
            }
            b'#' => {
                while program.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            b'"' => {
                at = string_end(program, at)
                    .ok_or((EffectKind::Unknown, "a string in the awk program is not closed"))?;
                tokens.push(Token::Text(&program[start..at]));
            }
            b'/' if !operand_before => {
                at = regex_end(program, at)
                    .ok_or((EffectKind::Unknown, "a pattern in the awk program is not plain"))?;
                tokens.push(Token::Regex);
            }
            b'0'..=b'9' | b'.' => {
                at = number_end(program, at)
                    .ok_or((EffectKind::Unknown, "a number in the awk program is not plain"))?;
                tokens.push(Token::Number(&program[start..at]));
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                while program.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                    at += 1;
                }
                tokens.push(Token::Name(std::str::from_utf8(&program[start..at]).unwrap_or_default()));
            }
            byte if b"+-*/%^!<>=&|?:;,(){}[]$~@".contains(&byte) => {
                at = start + operator_length(&program[start..]);
                let operator = &program[start..at];
                match operator {
                    b"(" => open
                        .push(matches!(tokens.last(), Some(Token::Name("if" | "while" | "for" | "switch")))),
                    b")" => match open.pop() {
                        Some(condition) => after_condition = condition,
                        None => return unknown("a parenthesis in the awk program that closes nothing"),
                    },
                    _ => {}
                }
                tokens.push(Token::Operator(operator));
            }
            _ => return unknown("a character in the awk program that is not understood"),
        }
    }
    Ok(tokens)
}

/// The end of a number. A letter directly behind it would begin a name, and is refused.
fn number_end(program: &[u8], mut at: usize) -> Option<usize> {
    let digits = |mut at: usize| {
        while program.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
            at += 1;
        }
        at
    };
    at = digits(at);
    if matches!(program.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(program.get(at + 1), Some(b'+' | b'-')));
        program.get(at + 1 + sign).filter(|byte| byte.is_ascii_digit())?;
        at = digits(at + 1 + sign);
    }
    let letter = program.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!letter).then_some(at)
}

fn operator_length(rest: &[u8]) -> usize {
    const LONG: [&[u8]; 20] = [
        b"**=", b"|&", b">>", b"&&", b"||", b"++", b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"^=", b"==",
        b"!=", b"<=", b">=", b"!~", b"**", b";;",
    ];
    LONG.iter().find(|operator| rest.starts_with(operator)).map_or(1, |operator| operator.len())
}

/// The end of a string that starts before `at`.
fn string_end(program: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match program.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' if program.get(at + 1) == Some(&b'\n') => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of a regular expression that starts before `at`. A slash between brackets is read differently by different
/// versions, and is refused.
fn regex_end(program: &[u8], mut at: usize) -> Option<usize> {
    let mut bracket = false;
    loop {
        match program.get(at)? {
            b'/' => return (!bracket).then_some(at + 1),
            b'\n' => return None,
            b'\\' => {
                program.get(at + 1).filter(|byte| **byte != b'\n')?;
                at += 2;
            }
            b'[' if bracket => {
                at += 1;
                if let Some(kind @ (b':' | b'.' | b'=')) = program.get(at) {
                    // The bracket of a `[:name:]` does not close the outer one.
                    let rest = program.get(at + 1..)?;
                    let name = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                    if rest.get(name) != Some(kind) || rest.get(name + 1) != Some(&b']') {
                        return None;
                    }
                    at += name + 3;
                }
            }
            b'[' => {
                bracket = true;
                at += 1;
                at += usize::from(program.get(at) == Some(&b'^'));
                at += usize::from(program.get(at) == Some(&b']'));
            }
            b']' => {
                bracket = false;
                at += 1;
            }
            _ => at += 1,
        }
    }
}
