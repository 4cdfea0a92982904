use std::collections::VecDeque;
use std::time::Duration;

/// A listener is told of new output no more often than this.
pub(crate) const TOLD_EVERY: Duration = Duration::from_millis(100);

/// The beginning and the end of an output, in memory of a fixed size.
pub struct BoundedOutput {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    left_out: usize,
}

impl BoundedOutput {
    /// Keeps at most `limit` bytes, half from the beginning and half from the end.
    pub fn new(limit: usize) -> Self {
        let tail_limit = limit / 2;
        Self {
            head: Vec::new(),
            head_limit: limit - tail_limit,
            tail: VecDeque::new(),
            tail_limit,
            left_out: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let skipped = rest.len().saturating_sub(self.tail_limit);
        let rest = &rest[skipped..];
        let dropped = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..dropped);
        self.tail.extend(rest);
        self.left_out += skipped + dropped;
    }

    /// The last bytes so far, as text.
    pub(crate) fn end(&self, most: usize) -> String {
        let from_head = most.saturating_sub(self.tail.len()).min(self.head.len());
        let from_tail = most.min(self.tail.len());
        let head = &self.head[self.head.len() - from_head..];
        // If something was left out, the beginning does not join the end.
        let head = if self.left_out == 0 { head } else { &[] };
        let tail = self.tail.iter().skip(self.tail.len() - from_tail);
        let end: Vec<u8> = head.iter().chain(tail).copied().collect();
        String::from_utf8_lossy(whole_start(whole_end(&end))).into_owned()
    }

    /// The text, and whether something is missing from it. Bytes that are not UTF-8 become U+FFFD.
    pub fn finish(self) -> (String, bool) {
        let Self { mut head, tail, left_out, .. } = self;
        let tail = Vec::from(tail);
        if left_out == 0 {
            head.extend_from_slice(&tail);
            return (String::from_utf8_lossy(&head).into_owned(), false);
        }
        let (head, tail) = (whole_start(&head), whole_end(&tail));
        let text = format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        );
        (text, true)
    }
}

/// Removes a character that was split at the end.
fn whole_start(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Removes the rest of a character that was split at the beginning.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let split = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[split..]
}
