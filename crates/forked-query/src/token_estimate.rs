use serde::Serialize as _;

use crate::{Message, ModelRequest, Usage};

/// Estimates the tokens of a conversation's requests without a tokenizer: from the provider's count for the last
/// request, and from the bytes that are new since.
///
/// ```
/// use headstart_forked_query::{TokenEstimate, Message, ModelRequest, Role, Usage};
///
/// let mut request = ModelRequest {
///     model: "m".into(), system: None, tools: vec![], messages: vec![Message::text(Role::User, "hello")],
///     thinking: false, response_schema: None, max_output_tokens: None,
/// };
/// let counted = Usage { input_tokens: 1_000, ..Usage::default() };
/// let estimate = TokenEstimate::default().after(&request, counted);
/// assert_eq!(estimate.tokens(&request), 1_000);
/// request.messages.push(Message::text(Role::User, "x".repeat(3_500)));
/// assert!((2_000..2_050).contains(&estimate.tokens(&request)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenEstimate {
    /// The bytes and the tokens of the last request that the provider counted.
    last: Option<(u64, u64)>,
}

impl TokenEstimate {
    /// The estimate after a request, with the provider's count for it. If there is no count, nothing changes.
    #[must_use]
    pub fn after(self, request: &ModelRequest, usage: Usage) -> Self {
        match usage.input_tokens {
            0 => self,
            tokens => Self { last: Some((length(request), tokens)) },
        }
    }

    /// The estimated tokens of this request. Bytes beyond the last request count a token for 3.5 bytes; a shorter
    /// request, from which something was removed, has as many tokens for each byte as the last one.
    pub fn tokens(self, request: &ModelRequest) -> u64 {
        let bytes = length(request);
        match self.last {
            None => of_bytes(bytes),
            Some((known, tokens)) if known <= bytes => tokens.saturating_add(of_bytes(bytes - known)),
            Some((known, tokens)) => {
                let share = u128::from(tokens) * u128::from(bytes) / u128::from(known);
                u64::try_from(share).unwrap_or(u64::MAX)
            }
        }
    }
}

/// An estimate of the tokens in this many bytes, valid for most languages.
fn of_bytes(bytes: u64) -> u64 {
    bytes.saturating_mul(2) / 7
}

/// The bytes that an image counts for. They correspond to the tokens that providers count for a large image, which
/// have little to do with the size of its file.
const IMAGE_BYTES: u64 = 5_600;

/// The bytes of its JSON, with [`IMAGE_BYTES`] for each image.
pub(crate) fn length(request: &ModelRequest) -> u64 {
    struct Counted(u64);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len() as u64);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    request
        .serialize(&mut serde_json::Serializer::new(&mut counted))
        .expect("works because strings, numbers and JSON values are always JSON");
    let images = request.messages.iter().flat_map(Message::images);
    images.fold(counted.0, |sum, image| sum - image.data.len() as u64 + IMAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::testing::request;

    #[test]
    fn an_image_counts_as_one_however_large_its_file_is() {
        let image = crate::Image { media_type: crate::ImageType::Png, data: "AAAA".repeat(500_000).into() };
        let mut request = request();
        let before = TokenEstimate::default().tokens(&request);
        request.messages.push(Message { role: Role::User, parts: vec![crate::Part::Image(image)] });
        let more = TokenEstimate::default().tokens(&request) - before;
        assert!((1_600..1_700).contains(&more), "{more}");
    }

    #[test]
    fn a_shorter_request_has_its_share_and_silence_changes_nothing() {
        let mut long = request();
        long.messages.push(Message::text(Role::User, "x".repeat(10_000)));
        let estimate =
            TokenEstimate::default().after(&long, Usage { input_tokens: 10_000, ..Usage::default() });
        let short = estimate.tokens(&request());
        assert!((1..2_000).contains(&short), "{short}");
        assert_eq!(estimate.after(&request(), Usage::default()), estimate);
        assert!(TokenEstimate::default().tokens(&long) < 4_000);
    }
}
