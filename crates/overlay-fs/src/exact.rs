//! Whole numbers in JSON that every reader gets exactly: written as a string if they exceed what a `double` holds
//! exactly, because JavaScript reads every number as a `double`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

const LARGEST: i64 = (1 << 53) - 1;

pub(crate) fn serialize<T, S>(number: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + fmt::Display + TryInto<i64>,
    S: Serializer,
{
    match (*number).try_into() {
        Ok(small) if (-LARGEST..=LARGEST).contains(&small) => serializer.serialize_i64(small),
        _ => serializer.collect_str(number),
    }
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr + TryFrom<u64> + TryFrom<i64>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Whole(PhantomData))
}

struct Whole<T>(PhantomData<T>);

impl<T: FromStr + TryFrom<u64> + TryFrom<i64>> Visitor<'_> for Whole<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number of 64 bits, or one as a string")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use crate::{EntryKind, Fingerprint};

    fn fingerprint(device: u64, modified_ns: i64) -> Fingerprint {
        let kind = EntryKind::File;
        Fingerprint { kind, device, inode: 7, len: 1, mode: 0, modified_ns, changed_ns: 0, racy: false }
    }

    /// JavaScript rounds whole numbers above 2⁵³ − 1, so in JSON those are strings.
    #[test]
    fn what_a_double_cannot_hold_is_a_string() {
        let cases = [
            (0, 0, "0", "0"),
            (9_007_199_254_740_991, -9_007_199_254_740_991, "9007199254740991", "-9007199254740991"),
            (9_007_199_254_740_992, -9_007_199_254_740_992, "\"9007199254740992\"", "\"-9007199254740992\""),
            (u64::MAX, i64::MIN, "\"18446744073709551615\"", "\"-9223372036854775808\""),
        ];
        for (device, modified, device_json, modified_json) in cases {
            let json = serde_json::to_string(&fingerprint(device, modified)).unwrap();
            assert!(json.contains(&format!("\"device\":{device_json},")), "{json}");
            assert!(json.contains(&format!("\"modifiedNs\":{modified_json},")), "{json}");
            let read: Fingerprint = serde_json::from_str(&json).unwrap();
            assert_eq!(read, fingerprint(device, modified));
            // The previous form must stay readable.
            let plain = json.replace(device_json, &device.to_string());
            assert_eq!(serde_json::from_str::<Fingerprint>(&plain).unwrap(), read);
        }
    }

    #[test]
    fn what_is_no_such_number_is_refused() {
        let json = serde_json::to_string(&fingerprint(5, 0)).unwrap();
        for device in ["-1", "1.5", "\"-1\"", "\"\"", "\"1e3\"", "18446744073709551616", "null", "[]"] {
            let spoilt = json.replace("\"device\":5", &format!("\"device\":{device}"));
            serde_json::from_str::<Fingerprint>(&spoilt).unwrap_err();
        }
    }
}
