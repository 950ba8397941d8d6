//! Days and moments of the proleptic Gregorian calendar, for people; files that are computed with have seconds.

/// A day, like 2026-11-22.
pub fn day(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// A moment in UTC as RFC 3339 writes it, like 2026-11-22T08:30:00Z.
pub fn moment(unix_s: u64) -> String {
    let (hour, minute, second) = (unix_s / 3600 % 24, unix_s / 60 % 60, unix_s % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", day(unix_s))
}

/// Year, month and day of a number of days since 1970-01-01 (Howard Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_told() {
        assert_eq!([0, 951_782_400, 1_795_305_600].map(day), ["1970-01-01", "2000-02-29", "2026-11-22"]);
        assert_eq!(moment(1_795_305_600 + 86_399), "2026-11-22T23:59:59Z");
        assert_eq!(moment(1_795_305_600 + 3_661), "2026-11-22T01:01:01Z");
    }
}
