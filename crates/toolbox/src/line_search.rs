use std::ops::ControlFlow;

/// A compiled regular expression that is matched against one line at a time.
///
/// Two engines share one syntax: ripgrep's (feature `ripgrep`: fast, `\w` and similar classes cover Unicode) and a
/// small one for the browser (`\w`, `\d`, `\s`, `\b` and `(?i)` cover ASCII only, no `\p{…}`).
pub(crate) trait LineSearch: Send + Sync {
    /// Passes on the lines with a match, with their numbers from 1 and without line ends, until told to stop.
    fn search(
        &self,
        content: &[u8],
        on_line: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()>;
}

/// Compiles with the engine of this build. The error says what is wrong with the pattern.
pub(crate) fn compile(pattern: &str) -> Result<Box<dyn LineSearch>, String> {
    if spans_lines(pattern) {
        return Err(
            "the pattern contains a line break, but lines are searched one by one; search for one line \
                    and read the file around it"
                .to_owned(),
        );
    }
    #[cfg(feature = "ripgrep")]
    let compiled = ripgrep::compile(pattern);
    #[cfg(not(feature = "ripgrep"))]
    let compiled = lite::compile(pattern);
    compiled.map_err(|error| {
        format!(
            "the pattern is not a valid regular expression ({error}); put a backslash before a special character \
             that is meant as itself"
        )
    })
}

/// Whether the pattern asks for a line break, or `\n`, outside a class in brackets.
fn spans_lines(pattern: &str) -> bool {
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\n' => return true,
            '\\' => {
                let escaped = characters.next();
                if escaped == Some('n') && !in_class {
                    return true;
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    false
}

#[cfg(any(test, not(feature = "ripgrep")))]
mod lite {
    use std::ops::ControlFlow;

    use regex_lite::Regex;

    use super::LineSearch;

    struct Lite(Regex);

    pub(super) fn compile(pattern: &str) -> Result<Box<dyn LineSearch>, String> {
        Regex::new(pattern)
            .map(|regex| Box::new(Lite(regex)) as Box<dyn LineSearch>)
            .map_err(|error| error.to_string())
    }

    impl LineSearch for Lite {
        fn search(
            &self,
            content: &[u8],
            on_line: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
        ) -> ControlFlow<()> {
            for (line, number) in content.split_inclusive(|byte| *byte == b'\n').zip(1..) {
                let line = super::without_line_end(line);
                if self.0.is_match(&String::from_utf8_lossy(line)) {
                    on_line(number, line)?;
                }
            }
            ControlFlow::Continue(())
        }
    }
}

#[cfg(feature = "ripgrep")]
mod ripgrep {
    use std::io;
    use std::ops::ControlFlow;

    use grep_matcher::LineTerminator;
    use grep_regex::{RegexMatcher, RegexMatcherBuilder};
    use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
    use regex_syntax::ast::parse::Parser;

    use super::LineSearch;

    struct Ripgrep(RegexMatcher);

    pub(super) fn compile(pattern: &str) -> Result<Box<dyn LineSearch>, String> {
        // Parsed by itself first, because the matcher puts the pattern into a group, in which `)(?:` would be valid.
        Parser::new().parse(pattern).map_err(|error| error.kind().to_string())?;
        RegexMatcherBuilder::new()
            .multi_line(true)
            .crlf(true)
            .build(pattern)
            .map(|matcher| Box::new(Ripgrep(matcher)) as Box<dyn LineSearch>)
            .map_err(|error| last_line(&error.to_string()))
    }

    impl LineSearch for Ripgrep {
        fn search(
            &self,
            content: &[u8],
            on_line: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
        ) -> ControlFlow<()> {
            let mut lines = Lines { on_line, flow: ControlFlow::Continue(()) };
            let mut searcher = SearcherBuilder::new()
                .line_terminator(LineTerminator::crlf())
                .line_number(true)
                .bom_sniffing(false)
                .binary_detection(BinaryDetection::none())
                .build();
            searcher
                .search_slice(&self.0, content, &mut lines)
                .expect("works because matcher and searcher end lines alike, and the sink never fails");
            lines.flow
        }
    }

    struct Lines<'a> {
        on_line: &'a mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
        flow: ControlFlow<()>,
    }

    impl Sink for Lines<'_> {
        type Error = io::Error;

        fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
            let number = found.line_number().unwrap_or_default();
            self.flow = (self.on_line)(number, super::without_line_end(found.bytes()));
            Ok(self.flow.is_continue())
        }
    }

    /// The engine shows the pattern over several lines; the last line says what is wrong.
    fn last_line(error: &str) -> String {
        let last = error.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests;
