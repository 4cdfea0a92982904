use std::io::{self, BufRead, BufReader, Read, Write};

use serde::Serialize;
use serde_json::Value;

use crate::error::CliError;

/// The most bytes of a line. A longer line is discarded.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// How many bytes of the buffer are kept after a long line, because many short ones may follow.
const KEPT: usize = 1024 * 1024;

/// Answers every line of `input` with one line of `output`, in order and one at a time, so that no more memory is used
/// than the longest line needs. `answer` gets the number of the line, from 1, and its value. Answers are written out as
/// soon as no further complete line is available, so that a program can wait for an answer before it sends the next
/// line.
pub fn answer_each<T: Serialize>(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(u64, Result<Value, String>) -> T,
) -> Result<(), CliError> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut output = io::BufWriter::new(output);
    let mut line = Vec::new();
    let mut json = Vec::new();
    for number in 1.. {
        if !input.buffer().contains(&b'\n') {
            output.flush().map_err(CliError::Output)?;
        }
        let Some(parsed) = next_line(&mut input, &mut line)? else { break };
        json.clear();
        serde_json::to_writer(&mut json, &answer(number, parsed))
            .map_err(|error| CliError::Output(error.into()))?;
        json.push(b'\n');
        output.write_all(&json).map_err(CliError::Output)?;
        json.shrink_to(KEPT);
    }
    output.flush().map_err(CliError::Output)
}

/// The value in the next line, or what is wrong with the line; `None` at the end of the input.
fn next_line(
    input: &mut BufReader<impl Read>,
    line: &mut Vec<u8>,
) -> Result<Option<Result<Value, String>>, CliError> {
    line.clear();
    let limit = MAX_LINE as u64 + 1;
    input.by_ref().take(limit).read_until(b'\n', line).map_err(CliError::Input)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if MAX_LINE < line.len() {
        input.skip_until(b'\n').map_err(CliError::Input)?;
        return Ok(Some(Err(format!("the line is longer than {MAX_LINE} bytes"))));
    }
    let parsed = serde_json::from_slice(line).map_err(|error| not_json(&error));
    line.shrink_to(KEPT);
    Ok(Some(parsed))
}

/// Removes the position from the parser's message, because the parser counts the given line as the first of a text.
pub fn not_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    format!("the line is not JSON: {} at byte {}", said.trim_end_matches(&place), error.column())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    fn answers(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        answer_each(input, &mut output, |_, line| line.map_or_else(|error| error, |value| value.to_string()))
            .unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_line_has_its_answer_even_where_it_is_none() {
        assert_eq!(answers(b""), Vec::<String>::new());
        assert_eq!(answers(b"1\n2"), ["1", "2"]);
        let answers = answers(b"{}\n\nx\r\n\xff\n3\n");
        assert_eq!(answers.len(), 5);
        assert_eq!((answers[0].as_str(), answers[4].as_str()), ("{}", "3"));
        assert!(
            answers[1..4].iter().all(|answer| answer.starts_with("the line is not JSON: ")),
            "{answers:?}"
        );
    }

    #[test]
    fn a_line_without_end_is_answered_and_the_next_one_too() {
        let mut input = vec![b' '; MAX_LINE + 1];
        input.extend_from_slice(b" 1\n2\n");
        assert_eq!(answers(&input), [format!("the line is longer than {MAX_LINE} bytes"), "2".to_owned()]);
        let mut input = vec![b' '; MAX_LINE - 1];
        input.extend_from_slice(b"1\n2\n");
        assert_eq!(answers(&input), ["1", "2"]);
    }

    #[test]
    fn lines_are_counted_from_one_whatever_is_on_them() {
        let mut input = b"1\n\nx\n".to_vec();
        input.extend(vec![b' '; MAX_LINE + 1]);
        input.extend_from_slice(b"\n2");
        let mut numbers = Vec::new();
        answer_each(&*input, io::sink(), |number, line| numbers.push((number, line.is_ok()))).unwrap();
        assert_eq!(numbers, [(1, true), (2, false), (3, false), (4, false), (5, true)]);
    }

    /// Returns one chunk per read, and notes what had been written by then.
    struct Peer {
        chunks: Vec<&'static [u8]>,
        written: Rc<RefCell<Vec<u8>>>,
        seen: Rc<RefCell<Vec<usize>>>,
    }

    impl Read for Peer {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.seen.borrow_mut().push(self.written.borrow().len());
            let chunk = if self.chunks.is_empty() { b"" } else { self.chunks.remove(0) };
            buffer[..chunk.len()].copy_from_slice(chunk);
            Ok(chunk.len())
        }
    }

    struct Sink(Rc<RefCell<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_peer_that_waits_for_its_answer_gets_it() {
        let (written, seen) = (Rc::default(), Rc::default());
        let peer =
            Peer { chunks: vec![b"1\n2\n3", b"\n"], written: Rc::clone(&written), seen: Rc::clone(&seen) };
        answer_each(peer, Sink(Rc::clone(&written)), |_, line| line.unwrap()).unwrap();
        assert_eq!(*seen.borrow(), [0, 4, 6], "both whole lines are answered before the third is waited for");
        assert_eq!(*written.borrow(), b"1\n2\n3\n");
    }
}
