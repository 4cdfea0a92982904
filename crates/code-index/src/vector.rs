//! Vectors of texts, and their similarity.

use crate::ports::ModelFailure;

/// The most numbers in a vector. No model for texts has more.
pub(crate) const MOST_DIMENSIONS: usize = 4_096;

/// The direction of a text's vector, with one byte for each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector(Box<[i8]>);

impl Vector {
    /// The vector with a model's numbers; `None` if all are 0, because the model knows nothing about the text. The
    /// error says what is wrong with the numbers: there are none or too many, or one is not finite.
    pub fn of(numbers: &[f32]) -> Result<Option<Self>, ModelFailure> {
        let unusable = |message: String| Err(ModelFailure::unusable(message));
        if numbers.is_empty() || MOST_DIMENSIONS < numbers.len() {
            let count = numbers.len();
            return unusable(format!("a vector has {count} numbers; 1 to {MOST_DIMENSIONS} are possible"));
        }
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            return unusable(format!("number {} of a vector is no number that could be compared", at + 1));
        }
        let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        if largest == 0.0 {
            return Ok(None);
        }
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127 by what was just computed")]
        let byte = |number: &f32| (number / largest * 127.0).round() as i8;
        Ok(Some(Self(numbers.iter().map(byte).collect())))
    }

    /// The number of its numbers.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The cosine of the angle to another vector: 1 for the same direction, 0 if the dimensions differ.
    pub fn similarity(&self, other: &Self) -> f32 {
        if self.dimensions() == other.dimensions() { cosine(&self.0, &other.0) } else { 0.0 }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().map(|number| number.cast_unsigned())
    }

    /// The similarity to a vector that [`bytes`](Self::bytes) wrote. A vector of zeros is similar to none.
    #[cfg(feature = "sqlite")]
    pub(crate) fn similarity_to_bytes(&self, other: &[u8]) -> f32 {
        let (mut product, mut length) = (0_i32, 0_i32);
        for (one, other) in self.0.iter().zip(other) {
            let other = i32::from(other.cast_signed());
            product += i32::from(*one) * other;
            length += other * other;
        }
        of_products(product, self.length(), length)
    }

    #[cfg(feature = "sqlite")]
    fn length(&self) -> i32 {
        self.0.iter().map(|number| i32::from(*number) * i32::from(*number)).sum()
    }
}

fn cosine(one: &[i8], other: &[i8]) -> f32 {
    let (mut product, mut lengths) = (0_i32, (0_i32, 0_i32));
    for (one, other) in one.iter().zip(other) {
        let (one, other) = (i32::from(*one), i32::from(*other));
        product += one * other;
        lengths.0 += one * one;
        lengths.1 += other * other;
    }
    of_products(product, lengths.0, lengths.1)
}

#[expect(clippy::cast_precision_loss, reason = "seven digits are enough to compare two angles")]
fn of_products(product: i32, one: i32, other: i32) -> f32 {
    if one == 0 || other == 0 { 0.0 } else { product as f32 / ((one as f32).sqrt() * (other as f32).sqrt()) }
}

/// The vector of a text, with the model that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextVector {
    /// [`Embedder::id`](crate::Embedder::id).
    pub model: String,
    /// The vector.
    pub vector: Vector,
}

/// A chunk whose vector is close to another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearChunk {
    /// The chunk's number in the catalogue.
    pub chunk: u32,
    /// [`Vector::similarity`].
    pub similarity: f32,
}

/// How many chunks a search asks for with [`Snapshot::nearest`](crate::Snapshot::nearest).
pub const NEAREST: usize = 200;

/// The `most` closest, the closest first; equally close ones by their numbers.
pub fn nearest(all: impl IntoIterator<Item = NearChunk>, most: usize) -> Vec<NearChunk> {
    let order = |one: &NearChunk, other: &NearChunk| {
        other.similarity.total_cmp(&one.similarity).then(one.chunk.cmp(&other.chunk))
    };
    let mut best: Vec<NearChunk> = Vec::with_capacity(2 * most);
    for near in all {
        best.push(near);
        if best.len() == 2 * most {
            best.sort_unstable_by(order);
            best.truncate(most);
        }
    }
    best.sort_unstable_by(order);
    best.truncate(most);
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the direction of a vector counts, not its length.
    #[test]
    fn a_vector_is_its_direction() {
        let of = |numbers: &[f32]| Vector::of(numbers).expect("good numbers").expect("a direction");
        let one = of(&[3.0, -4.0, 0.0]);
        assert!((one.similarity(&of(&[0.3, -0.4, 0.0])) - 1.0).abs() < 1e-4);
        assert!((one.similarity(&of(&[-3.0, 4.0, 0.0])) + 1.0).abs() < 1e-4);
        assert!(one.similarity(&of(&[4.0, 3.0, 0.0])).abs() < 0.02);
        assert!(one.similarity(&of(&[3.0, -4.0])).abs() < f32::EPSILON);
        // This also works for the smallest and the largest numbers.
        assert_eq!(of(&[f32::MAX, f32::MIN_POSITIVE]), of(&[1.0, 0.0]));
    }

    #[test]
    fn numbers_that_are_no_direction_are_refused() {
        let many = vec![1.0; MOST_DIMENSIONS + 1];
        assert_eq!(Vector::of(&[0.0, 0.0]).expect("good numbers"), None);
        let cases: [(&[f32], &str); 4] = [
            (&[], "0 numbers"),
            (&many, "4097 numbers"),
            (&[1.0, f32::NAN], "number 2"),
            (&[f32::NEG_INFINITY], "number 1"),
        ];
        for (numbers, expected) in cases {
            let error = Vector::of(numbers).unwrap_err();
            let is_told =
                matches!(&error, ModelFailure::Unusable { message, .. } if message.contains(expected));
            assert!(is_told, "{error}");
        }
    }

    #[test]
    fn the_closest_come_first() {
        let all = (0..1_000).map(|chunk| {
            let similarity = f32::from(u16::try_from(chunk * 7 % 100).unwrap_or(0)) / 100.0;
            NearChunk { chunk, similarity }
        });
        let found = nearest(all, 12);
        assert_eq!(found.len(), 12);
        assert!(found.windows(2).all(|pair| pair[1].similarity <= pair[0].similarity));
        assert!(found.iter().take(10).all(|near| (near.similarity - 0.99).abs() < 1e-6));
        assert_eq!(nearest([], 3), []);
    }
}
