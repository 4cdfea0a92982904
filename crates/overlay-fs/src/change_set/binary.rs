//! Binary content in a patch as git writes it: compressed, in base 85, once for each direction.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// How many compressed bytes go into one line.
const IN_A_LINE: usize = 52;
/// The level at which git compresses by default.
const LEVEL: u8 = 6;

/// The object name that git gives to this content.
pub(crate) fn object_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().iter().fold(String::new(), |mut id, byte| {
        write!(id, "{byte:02x}").expect("works because a string takes all");
        id
    })
}

/// Writes both contents in full: the new one, and the old one for a patch that is taken back.
pub(super) fn write(patch: &mut String, old: &[u8], new: &[u8]) {
    patch.push_str("GIT binary patch\n");
    for content in [new, old] {
        writeln!(patch, "literal {}", content.len()).expect("works because a string takes all");
        for line in miniz_oxide::deflate::compress_to_vec_zlib(content, LEVEL).chunks(IN_A_LINE) {
            write_line(patch, line);
        }
        patch.push('\n');
    }
}

/// Writes the number of bytes as a letter, then five digits for every four bytes; the last four are filled up with
/// zeros.
fn write_line(patch: &mut String, bytes: &[u8]) {
    let letters = (b'A'..=b'Z').chain(b'a'..=b'z');
    patch.extend(letters.map(char::from).nth(bytes.len() - 1));
    for group in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded[..group.len()].copy_from_slice(group);
        let mut rest = u32::from_be_bytes(padded) as usize;
        let mut digits = ['0'; 5];
        for digit in digits.iter_mut().rev() {
            *digit = char::from(ALPHABET[rest % 85]);
            rest /= 85;
        }
        patch.extend(digits);
    }
    patch.push('\n');
}
