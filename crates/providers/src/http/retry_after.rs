use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// How long the provider wants to be left alone. A date is compared with the response's own, so no clock is needed,
/// and a wrong clock here does no harm.
pub(super) fn read(headers: &HeaderMap) -> Option<Duration> {
    let text = |value: Option<&reqwest::header::HeaderValue>| Some(value?.to_str().ok()?.trim().to_owned());
    if let Some(milliseconds) = text(headers.get("retry-after-ms")).and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let after = text(headers.get(RETRY_AFTER))?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = text(headers.get(DATE))?;
    let (after, date) = (httpdate::parse_http_date(&after).ok()?, httpdate::parse_http_date(&date).ok()?);
    Some(after.duration_since(date).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
        let cases = [
            (Vec::<(&str, &str)>::new(), None),
            (vec![("retry-after", "17")], Some(17.0)),
            (vec![("retry-after", "0.5")], Some(0.5)),
            (vec![("retry-after", "17"), ("retry-after-ms", "250")], Some(0.25)),
            (vec![("retry-after", "Wed, 21 Oct 2015 07:29:30 GMT"), date], Some(90.0)),
            (vec![("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"), date], Some(0.0)),
            (vec![("retry-after", "Wed, 21 Oct 2015 07:29:30 GMT")], None),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "NaN")], None),
            (vec![("retry-after", "soon"), date], None),
        ];
        for (headers, expected) in cases {
            let map: HeaderMap =
                headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            assert_eq!(read(&map), expected.map(Duration::from_secs_f64), "{headers:?}");
        }
    }
}
