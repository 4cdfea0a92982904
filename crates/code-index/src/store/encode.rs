//! Numbers of the chunks of one content, as bytes.

use crate::catalogue::ChunkEntry;

/// First line, last line and lengths of each chunk, seven bits a byte.
pub(super) fn chunks(list: impl Iterator<Item = [u32; 4]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for numbers in list {
        for mut number in numbers {
            loop {
                let [low, ..] = number.to_le_bytes();
                number >>= 7;
                if number == 0 && low < 0x80 {
                    bytes.push(low);
                    break;
                }
                bytes.push(low | 0x80);
            }
        }
    }
    bytes
}

/// What [`chunks`] wrote. Bytes that it did not write give fewer chunks, never a panic.
pub(super) fn read_chunks(bytes: &[u8]) -> Vec<ChunkEntry> {
    let mut numbers = Vec::with_capacity(bytes.len());
    let (mut number, mut shift) = (0_u32, 0);
    for byte in bytes {
        number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    let entry = |of: &[u32]| ChunkEntry { content: 0, first: of[0], last: of[1], lengths: [of[2], of[3]] };
    numbers.chunks_exact(4).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let lists =
            [[1, 2, 3, 4], [0, 127, 128, 129], [255, 256, 16_383, 16_384], [u32::MAX, 1 << 28, 1 << 31, 0]];
        let read = read_chunks(&chunks(lists.into_iter()));
        let numbers: Vec<_> =
            read.iter().map(|it| [it.first, it.last, it.lengths[0], it.lengths[1]]).collect();
        assert_eq!(numbers, lists);
    }

    #[test]
    fn other_bytes_are_no_harm() {
        for bytes in [&[0xff; 40][..], &[0x80], &[1, 2, 3], &[]] {
            let _ = read_chunks(bytes);
        }
        assert!(read_chunks(&[1, 2, 3]).is_empty());
    }
}
