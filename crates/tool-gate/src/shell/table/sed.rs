//! `sed`: its options, and its scripts, which are a language of their own.

use crate::EffectKind::{self, Executes, NonTerminating, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const SED: Spec = Spec {
    flags: "nErsuz",
    values: "el",
    long: "quiet silent debug expression= line-length= posix regexp-extended separate sandbox unbuffered null-data \
           zero-terminated help version",
    refuses: &[
        ("i in-place", WritesWorkspace, "sed edits files in place"),
        ("f file", Executes, "sed runs a script from a file"),
    ],
    ..Spec::new(&["sed"], Operands::Custom)
};

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let args: Vec<Arg> = args.iter().map(Arg::with_number_first).collect();
    let parsed = parse(judge, &SED, &args);
    let mut scripts: Vec<Arg> = parsed
        .options
        .iter()
        .filter(|given| matches!(given.name.as_str(), "e" | "expression"))
        .filter_map(|given| given.value.clone())
        .collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() {
        let Some((script, rest)) = files.split_first() else {
            if !parsed.has(&["help", "version"]) {
                judge.unknown("sed without a script", span);
            }
            return;
        };
        scripts.push(script.clone());
        files = rest;
    }
    // Sed joins all scripts, each on lines of its own. A number in one may have any value; the first reading stands
    // for all of them.
    let mut wholes: Vec<Vec<u8>> = vec![Vec::new()];
    let at =
        scripts.iter().map(|script| script.span).reduce(|all, next| (all.0.min(next.0), all.1.max(next.1)));
    let at = at.unwrap_or(span);
    let mut known = true;
    for script in &scripts {
        let Some(readings) =
            script.readings_by_number().filter(|readings| readings.len() * wholes.len() < 32)
        else {
            judge.refuse(Executes, "a sed script that is not known before it runs", script.span);
            known = false;
            continue;
        };
        if readings.iter().any(|text| text.ends_with(b"\\")) && 1 < scripts.len() {
            judge.unknown("text in a sed script that is not complete", script.span);
        }
        wholes = wholes
            .iter()
            .flat_map(|whole| readings.iter().map(move |text| [&whole[..], text, b"\n"].concat()))
            .collect();
    }
    let numbered = scripts.iter().any(|script| !script.exact);
    for (place, whole) in wholes.iter().enumerate().filter(|_| known) {
        match check(whole.strip_suffix(b"\n").unwrap_or(whole)) {
            // The name of a file or of a label would depend on the number.
            Ok(further) if numbered && (!further.is_empty() || whole.contains(&b':')) => {
                judge.refuse(Executes, "a sed script that is not known before it runs", at);
            }
            Ok(further) => {
                for name in further {
                    judge.read_file(&Arg::exact(name, at));
                }
            }
            // With such a number sed reports an error and does nothing.
            Err((_, MALFORMED)) if 0 < place => {}
            Err((kind, detail)) => judge.refuse(kind, detail, at),
        }
    }
    for file in files.iter().filter(|file| !file.is("-")) {
        judge.read_file(file);
    }
}

/// An error of sed itself, in every version.
const MALFORMED: &str = "an address of a sed script that is not complete";

type Refused = (EffectKind, &'static str);

/// Checks that a script only edits its stream. Returns the further files that it reads.
pub(super) fn check(script: &[u8]) -> Result<Vec<Vec<u8>>, Refused> {
    let (reads, labels) = (Vec::new(), Vec::new());
    let mut reader = Reader { script, at: 0, open: 0, reads, labels, changed: false, grows: false };
    while reader.command()? {}
    if reader.open == 0 { Ok(reader.reads) } else { Err(unknown("a sed script with an open brace")) }
}

fn unknown(detail: &'static str) -> Refused {
    (EffectKind::Unknown, detail)
}

struct Reader<'a> {
    script: &'a [u8],
    at: usize,
    open: usize,
    reads: Vec<Vec<u8>>,
    /// Labels from which every command so far goes on to the next and none reads another line.
    labels: Vec<Vec<u8>>,
    /// Whether the line may have been changed since the first of these labels.
    changed: bool,
    /// Whether an `s` command since then matches its own replacement.
    grows: bool,
}

/// The lines to which a command applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Address {
    All,
    /// Lines of some numbers. The number stays the same until the next line is read.
    Numbers,
    /// Lines that match a pattern.
    Matching,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.script.get(self.at).copied()
    }

    fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|byte| bytes.contains(&byte)) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        start < self.at
    }

    /// Reads one command with its addresses; the result says whether there was one.
    fn command(&mut self) -> Result<bool, Refused> {
        self.skip(b" \t\n;");
        let Some(first) = self.peek() else { return Ok(false) };
        if first == b'#' {
            self.line();
            return Ok(true);
        }
        let start = self.at;
        let mut address = if self.address()? { Address::Numbers } else { Address::All };
        if address != Address::All {
            self.skip(b" \t");
            if self.peek() == Some(b',') {
                self.at += 1;
                self.skip(b" \t");
                if matches!(self.peek(), Some(b'+' | b'~')) {
                    self.at += 1;
                    if !self.number() {
                        return Err(unknown("a sed address that is not understood"));
                    }
                } else if !self.address()? {
                    return Err(unknown(MALFORMED));
                }
            }
        }
        if self.script[start..self.at].iter().any(|byte| matches!(byte, b'/' | b'\\')) {
            address = Address::Matching;
        }
        self.skip(b" \t");
        while self.peek() == Some(b'!') {
            self.at += 1;
            self.skip(b" \t");
        }
        let Some(command) = self.peek() else { return Err(unknown("a sed address without a command")) };
        self.at += 1;
        if matches!(command, b'{' | b'}' | b'n' | b'N' | b'd' | b'D' | b'q' | b'Q' | b'T') {
            self.labels.clear();
        }
        self.changed |= matches!(command, b's' | b'y' | b'g' | b'G' | b'x' | b'z' | b'c');
        match command {
            b'{' => self.open += 1,
            b'}' => {
                self.open =
                    self.open.checked_sub(1).ok_or_else(|| unknown("a sed script with a stray brace"))?;
                self.end()?;
            }
            b'=' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'n' | b'N' | b'p' | b'P' | b'x' | b'z'
            | b'F' => self.end()?,
            b'q' | b'Q' | b'l' => {
                self.skip(b" \t");
                self.number();
                self.end()?;
            }
            b':' | b'b' | b't' | b'T' => self.label(command, address)?,
            b'a' | b'i' | b'c' => self.text()?,
            b's' => self.substitute()?,
            b'y' => {
                let delimiter = self.delimiter()?;
                self.section(delimiter, false)?;
                self.section(delimiter, false)?;
                self.end()?;
            }
            b'w' | b'W' => self.printed_to()?,
            b'e' => return Err((Executes, "the sed script runs a command")),
            b'r' | b'R' => {
                let name = self.file_name().to_vec();
                if name.is_empty() {
                    return Err(unknown("a sed command without its file"));
                }
                self.reads.push(name);
            }
            b'v' => {
                self.skip(b" \t0123456789.");
                self.end()?;
            }
            b',' | b'-' => return Err(unknown(MALFORMED)),
            _ => return Err(unknown("a sed command that is not understood")),
        }
        Ok(true)
    }

    fn address(&mut self) -> Result<bool, Refused> {
        match self.peek() {
            Some(b'$') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte.is_ascii_digit() => {
                self.number();
                if self.peek() == Some(b'~') {
                    self.at += 1;
                    self.number();
                }
                Ok(true)
            }
            Some(b'/') => {
                self.at += 1;
                self.section(b'/', true)?;
                self.skip(b"IM");
                Ok(true)
            }
            Some(b'\\') => {
                self.at += 1;
                let delimiter = self.delimiter()?;
                self.section(delimiter, true)?;
                self.skip(b"IM");
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn delimiter(&mut self) -> Result<u8, Refused> {
        let byte = self.peek().ok_or_else(|| unknown("a sed command that is not complete"))?;
        if !byte.is_ascii_graphic() || byte.is_ascii_alphanumeric() || byte == b'\\' {
            return Err(unknown("a sed delimiter that is not plain"));
        }
        self.at += 1;
        Ok(byte)
    }

    /// Reads text up to the delimiter and steps over that; returns the end of the text. It is refused if versions of
    /// sed could find different ends.
    fn section(&mut self, delimiter: u8, regex: bool) -> Result<usize, Refused> {
        let mut bracket = None;
        loop {
            let byte = self.peek().ok_or_else(|| unknown("a sed command that is not complete"))?;
            self.at += 1;
            match byte {
                b'\n' => return Err(unknown("a newline inside a sed command")),
                byte if byte == delimiter => {
                    if bracket.is_some() {
                        return Err(unknown("a delimiter inside brackets"));
                    }
                    return Ok(self.at - 1);
                }
                b'\\' => match self.peek() {
                    Some(b'\n') | None => return Err(unknown("a newline inside a sed command")),
                    // Inside brackets a backslash stands for itself, but GNU sed still steps over a delimiter behind
                    // it.
                    Some(next) if bracket.is_some() && next != delimiter && next != b'\\' => {}
                    Some(_) => self.at += 1,
                },
                b'[' if regex && bracket.is_none() => {
                    bracket = Some(self.at);
                    if self.peek() == Some(b'^') {
                        self.at += 1;
                        bracket = Some(self.at);
                    }
                }
                b']' if bracket.is_some_and(|start| start + 1 < self.at) => bracket = None,
                b'[' if bracket.is_some() => {
                    if matches!(self.peek(), Some(b':' | b'.' | b'=')) {
                        self.class(delimiter)?;
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads `[:name:]` inside brackets.
    fn class(&mut self, delimiter: u8) -> Result<(), Refused> {
        let kind = self.peek();
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == delimiter || byte == b'\n' || byte == b'\\' {
                return Err(unknown("a delimiter inside brackets"));
            }
            if Some(byte) == kind && self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
        }
        Err(unknown("a sed command that is not complete"))
    }

    fn substitute(&mut self) -> Result<(), Refused> {
        let delimiter = self.delimiter()?;
        let (pattern, end) = (self.at, self.section(delimiter, true)?);
        let (new, new_end) = (self.at, self.section(delimiter, false)?);
        let (pattern, new) = (&self.script[pattern..end], &self.script[new..new_end]);
        let plain =
            !pattern.is_empty() && pattern.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        self.grows |=
            plain && (new.contains(&b'&') || new.windows(pattern.len()).any(|part| part == pattern));
        loop {
            match self.peek() {
                Some(b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') => self.at += 1,
                Some(b'w') => {
                    self.at += 1;
                    return self.printed_to();
                }
                Some(b'e') => return Err((Executes, "the sed script runs a command")),
                _ => return self.end(),
            }
        }
    }

    /// Reads the name of a file, which is the rest of the line.
    fn file_name(&mut self) -> &[u8] {
        self.skip(b" \t");
        let start = self.at;
        self.line();
        &self.script[start..self.at]
    }

    /// Reads the name of a file to write, which may only be where sed prints anyway.
    fn printed_to(&mut self) -> Result<(), Refused> {
        match self.file_name() {
            b"/dev/stdout" | b"/dev/stderr" => Ok(()),
            _ => Err((WritesWorkspace, "the sed script writes a file")),
        }
    }

    /// Reads what may follow a command.
    fn end(&mut self) -> Result<(), Refused> {
        self.skip(b" \t");
        match self.peek() {
            None | Some(b'\n' | b';' | b'}' | b'#') => Ok(()),
            Some(_) => Err(unknown("text after a sed command")),
        }
    }

    fn label(&mut self, command: u8, address: Address) -> Result<(), Refused> {
        self.skip(b" \t");
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        if command == b':' && start == self.at {
            return Err(unknown("a sed label without a name"));
        }
        let name = self.script[start..self.at].to_vec();
        match command {
            b':' => {
                if self.labels.is_empty() {
                    (self.changed, self.grows) = (false, false);
                }
                self.labels.push(name);
            }
            // Between the label and this jump nothing reads a line, leaves the loop or changes which lines match the
            // address.
            b'b' if self.labels.contains(&name) && (address != Address::Matching || !self.changed) => {
                return Err((NonTerminating, "a loop in the sed script does not end"));
            }
            b't' if self.labels.contains(&name) && self.grows => {
                return Err((NonTerminating, "a loop in the sed script finds what it has put there itself"));
            }
            // From here on, only a conditional jump or one to a later label has left the commands above.
            b'b' | b't' => self.labels.clear(),
            _ => {}
        }
        self.end()
    }

    /// Reads the text of `a`, `i` and `c`, which goes to the end of the line.
    fn text(&mut self) -> Result<(), Refused> {
        loop {
            self.line();
            let backslashes = self.script[..self.at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 0 {
                return Ok(());
            }
            if self.peek().is_none() {
                // The text would go on in the next `-e`.
                return Err(unknown("text in a sed script that is not complete"));
            }
            self.at += 1;
        }
    }

    fn line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }
}
