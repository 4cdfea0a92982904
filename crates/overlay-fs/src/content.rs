use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "os")]
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh3::xxh3_128;

use crate::change_set::binary;
use crate::{EntryKind, Fingerprint};

/// The XXH3 hash of a content. It tells whether a content is the same, and is no protection against manipulation.
///
/// In JSON: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(u128);

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self(xxh3_128(content))
    }

    /// The hash of a content that comes in parts; an empty part ends it.
    #[cfg(feature = "os")]
    pub(crate) fn of_parts<E>(
        buffer: &mut [u8],
        mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Self, E> {
        let mut hash = Xxh3::new();
        loop {
            match read(buffer)? {
                0 => return Ok(Self(hash.digest128())),
                count => hash.update(&buffer[..count]),
            }
        }
    }

    /// A part of the hash, as a number that JavaScript holds exactly.
    pub(crate) fn short(self) -> u64 {
        self.halves()[0] >> 11
    }

    fn halves(self) -> [u64; 2] {
        [self.0 >> 64, self.0]
            .map(|half| u64::try_from(half & u128::from(u64::MAX)).expect("works because 64 bits are left"))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A text is not the hash of a content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a content hash of 32 hexadecimal digits")]
pub struct ParseHashError {
    /// The text.
    pub text: String,
}

/// Reads what `Display` writes.
impl std::str::FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let all_digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(hash) if all_digits => Ok(Self(hash)),
            _ => Err(ParseHashError { text: text.to_owned() }),
        }
    }
}

/// The content of a file: shared without copying, and hashed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    hash: ContentHash,
    bytes: Arc<[u8]>,
}

impl Content {
    /// The hash of the bytes.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// The name that git gives to this content in a repository that names its objects by SHA-1, in hexadecimal.
    pub fn git_object_id(&self) -> String {
        binary::object_id(self)
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Arc<[u8]>> for Content {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self { hash: ContentHash::of(&bytes), bytes }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Self {
        bytes[..].into()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encoding::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        encoding::deserialize(deserializer).map(Self::from)
    }
}

/// The device number of staged files. No real device has it.
const STAGED_DEVICE: u64 = u64::MAX;

impl Fingerprint {
    /// The fingerprint of something that is only staged: equal content gives equal fingerprints.
    pub(crate) fn staged(kind: EntryKind, content: &[u8], hash: ContentHash, mode: u32) -> Self {
        let [high, low] = hash.halves();
        Self {
            kind,
            device: STAGED_DEVICE,
            inode: high,
            len: content.len() as u64,
            mode,
            modified_ns: low.cast_signed(),
            changed_ns: 0,
            racy: false,
        }
    }

    /// Whether this is the fingerprint of something that is only staged.
    pub(crate) fn is_staged(&self) -> bool {
        self.device == STAGED_DEVICE
    }

    /// The fingerprint of a folder of which only is known that it is a folder.
    pub(crate) fn directory() -> Self {
        Self {
            kind: EntryKind::Directory,
            device: STAGED_DEVICE,
            inode: 0,
            len: 0,
            mode: 0o755,
            modified_ns: 0,
            changed_ns: 0,
            racy: false,
        }
    }
}

/// Bytes in JSON: a string if they are UTF-8, else `{"base64": "…"}`.
pub(crate) mod encoding {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Bytes that are read and written in this form.
    pub(crate) struct Encoded(pub(crate) Vec<u8>);

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Spelling<'a> {
        Text(&'a str),
        Binary { base64: String },
    }

    impl Serialize for Encoded {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serialize(&self.0, serializer)
        }
    }

    impl<'de> Deserialize<'de> for Encoded {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(EncodedVisitor)
        }
    }

    struct EncodedVisitor;

    /// Written by hand: the code that serde derives for an untagged enum copies a text before it knows what it is,
    /// and is many times as large.
    impl<'de> Visitor<'de> for EncodedVisitor {
        type Value = Encoded;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a string or an object with `base64`")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Encoded, E> {
            self.visit_string(text.to_owned())
        }

        fn visit_string<E: Error>(self, text: String) -> Result<Encoded, E> {
            Ok(Encoded(text.into_bytes()))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Encoded, A::Error> {
            let mut bytes = None;
            while let Some(name) = fields.next_key::<String>()? {
                let text: String = fields.next_value()?;
                if name != "base64" || bytes.is_some() {
                    return Err(A::Error::unknown_field(&name, &["base64"]));
                }
                bytes = Some(STANDARD.decode(text).map_err(A::Error::custom)?);
            }
            bytes.map(Encoded).ok_or_else(|| A::Error::missing_field("base64"))
        }
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Spelling::Text(text).serialize(serializer),
            Err(_) => Spelling::Binary { base64: STANDARD.encode(bytes) }.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Encoded::deserialize(deserializer).map(|encoded| encoded.0)
    }

    /// The same encoding for a list of names that may be absent.
    pub(crate) mod names {
        use super::{Deserialize, Deserializer, Encoded, Serialize, Serializer};

        #[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
        pub(crate) fn serialize<S: Serializer>(
            names: &Option<Vec<Vec<u8>>>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            let names = names.as_ref().map(|names| names.iter().cloned().map(Encoded).collect::<Vec<_>>());
            names.serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Vec<Vec<u8>>>, D::Error> {
            let names = Option::<Vec<Encoded>>::deserialize(deserializer)?;
            Ok(names.map(|names| names.into_iter().map(|name| name.0).collect()))
        }
    }
}
