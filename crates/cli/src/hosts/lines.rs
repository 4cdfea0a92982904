//! Reads a protocol's lines from a client, none of them longer than a limit.

use std::io;
use std::mem;

use headstart_machine::lines::MAX_LINE;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Reads lines. A future of [`next`](Self::next) may be dropped at any time: what it has read is kept here.
pub(in crate::hosts) struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Looks for the id in the line that is being read, once that is too long to be kept.
    too_long: Option<IdScanner>,
}

/// A line without its end.
#[derive(Debug, PartialEq)]
pub(in crate::hosts) enum InputLine {
    Whole(Vec<u8>),
    /// The line was discarded, except for the id of the request that it probably is.
    TooLong {
        id: Value,
    },
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(in crate::hosts) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(64 * 1024, input), line: Vec::new(), too_long: None }
    }

    /// The next line; `None` at the end of the input.
    pub(in crate::hosts) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                let is_end = self.line.is_empty() && self.too_long.is_none();
                return Ok((!is_end).then(|| self.take()));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            match &mut self.too_long {
                Some(scanner) => scanner.scan(part),
                None => self.line.extend_from_slice(part),
            }
            let length = part.len() + usize::from(end.is_some());
            self.input.consume(length);
            if MAX_LINE < self.line.len() {
                let mut scanner = IdScanner::default();
                scanner.scan(&mem::take(&mut self.line));
                self.too_long = Some(scanner);
            }
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> InputLine {
        match self.too_long.take() {
            Some(scanner) => InputLine::TooLong { id: scanner.id },
            None => InputLine::Whole(mem::take(&mut self.line)),
        }
    }
}

/// The error's text for a line that is too long.
pub(in crate::hosts) fn too_long() -> String {
    format!("the line is longer than {MAX_LINE} bytes")
}

/// The id of the request that a line probably is, although it cannot be read as a whole; null if there is none.
pub(in crate::hosts) fn request_id(line: &[u8]) -> Value {
    let mut scanner = IdScanner::default();
    scanner.scan(line);
    scanner.id
}

/// Finds the `id` of a JSON object without keeping the object.
#[derive(Default)]
struct IdScanner {
    /// How many objects and lists are open.
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// The member of the outermost object that is being read, without the objects and lists in it.
    member: Vec<u8>,
    id: Value,
}

impl IdScanner {
    /// The most bytes of a member that can be an id. A client that uses longer ones is answered without an id.
    const MOST: usize = 1024;

    fn scan(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    if self.depth == 1 {
                        self.end_member();
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                b',' if self.depth == 1 => return self.end_member(),
                _ => {}
            }
        }
        let is_bracket = !self.in_text && matches!(byte, b'{' | b'}' | b'[' | b']');
        if self.depth == 1 && !is_bracket && self.member.len() <= Self::MOST {
            self.member.push(byte);
        }
    }

    fn end_member(&mut self) {
        let member = mem::take(&mut self.member);
        if Self::MOST < member.len() {
            return;
        }
        let object = [b"{", member.as_slice(), b"}"].concat();
        if let Ok(Value::Object(mut member)) = serde_json::from_slice(&object)
            && let Some(id) = member.remove("id").filter(|id| id.is_string() || id.is_i64())
        {
            self.id = id;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(input: &[u8]) -> Vec<InputLine> {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            while let Some(line) = reader.next().await.unwrap() {
                lines.push(line);
            }
        });
        lines
    }

    #[test]
    fn a_line_that_is_too_long_is_discarded_except_for_its_id() {
        let whole = |line: &str| InputLine::Whole(line.into());
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\n\nb"), [whole("a"), whole(""), whole("b")]);
        let most = "a".repeat(MAX_LINE);
        assert_eq!(lines(format!("{most}\nb\n").as_bytes()), [whole(&most), whole("b")]);
        let first = format!("{{\"id\":7,\"params\":[\"{most}\"]}}\nb");
        assert_eq!(lines(first.as_bytes()), [InputLine::TooLong { id: json!(7) }, whole("b")]);
        let last = format!("{{\"params\":[\"{most}\"],\"id\":\"q\"}}\nb\n");
        assert_eq!(lines(last.as_bytes()), [InputLine::TooLong { id: json!("q") }, whole("b")]);
        assert_eq!(lines(format!("{most}b").as_bytes()), [InputLine::TooLong { id: Value::Null }]);
    }

    #[test]
    fn an_id_is_that_of_the_outermost_object() {
        for (line, id) in [
            (r#"{"id":1}"#, json!(1)),
            (r#" { "id" : "a,}\"b" , "x":"#, json!("a,}\"b")),
            (r#"{"params":{"id":2},"id":-3}"#, json!(-3)),
            (r#"{"params":[{"id":2}],"method":"id"}"#, Value::Null),
            (r#"{"params":"\",\"id\":4,\"","#, Value::Null),
            (r#"{"x\"id":4}"#, Value::Null),
            (r#"{"id":{"id":5}}"#, Value::Null),
            (r#"{"id":1.5}"#, Value::Null),
            (r#"{"id":6"#, Value::Null),
            (r#"[{"id":6}]"#, Value::Null),
            (r#""id":6,"#, Value::Null),
            (r#"}}{"id":7}"#, json!(7)),
        ] {
            assert_eq!(request_id(line.as_bytes()), id, "{line}");
        }
        let long = "a".repeat(IdScanner::MOST);
        assert_eq!(request_id(format!("{{\"id\":\"{long}\"}}").as_bytes()), Value::Null);
    }
}
