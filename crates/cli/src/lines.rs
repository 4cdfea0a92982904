use std::io::{self, BufRead, BufReader, Read, Write};

use serde::Serialize;
use serde_json::Value;

use crate::error::CliError;

/// A line may be so long, in bytes; of a longer one nothing is kept.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// Answers every line of `input` with one line of `output`, in order, one at a time: memory stays that of the
/// longest line. What is answered is written out as soon as no further whole line is at hand, so that a
/// program can wait for one answer before it asks again.
pub(crate) fn answer_each<T: Serialize>(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(Result<Value, String>) -> T,
) -> Result<(), CliError> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut output = io::BufWriter::new(output);
    let mut line = Vec::new();
    loop {
        if !input.buffer().contains(&b'\n') {
            output.flush().map_err(CliError::Output)?;
        }
        let Some(parsed) = next_line(&mut input, &mut line)? else { break };
        let json = serde_json::to_vec(&answer(parsed)).map_err(|error| CliError::Output(error.into()))?;
        output.write_all(&json).and_then(|()| output.write_all(b"\n")).map_err(CliError::Output)?;
    }
    output.flush().map_err(CliError::Output)
}

/// The value on the next line, or what is wrong with the line; `None` at the end of the input.
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
    let parsed = serde_json::from_slice(line).map_err(|error| format!("the line is not JSON: {error}"));
    // A line of 16 MiB may be followed by a billion short ones.
    line.shrink_to(1024 * 1024);
    Ok(Some(parsed))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    fn answers(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        answer_each(input, &mut output, |line| line.map_or_else(|error| error, |value| value.to_string()))
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

    /// Gives one chunk a read, and notes what had been written by then.
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
        answer_each(peer, Sink(Rc::clone(&written)), |line| line.unwrap()).unwrap();
        assert_eq!(*seen.borrow(), [0, 4, 6], "both whole lines are answered before the third is waited for");
        assert_eq!(*written.borrow(), b"1\n2\n3\n");
    }
}
