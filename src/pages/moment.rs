//! Times as people read them. We know nobody's time zone, so they say UTC.

use crate::views::{Language, Moment};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A moment taken apart in the Gregorian calendar.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
}

impl Moment {
    /// For machines, as the attribute `datetime` has it (WHATWG HTML section 4.5.14).
    pub(crate) fn machine(self) -> String {
        let at = parts(self.unix_s);
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}Z",
            at.year, at.month, at.day, at.hour, at.minute
        )
    }

    /// For people.
    pub(crate) fn human(self, language: Language) -> String {
        let at = parts(self.unix_s);
        let clock = format!("{:02}:{:02}", at.hour, at.minute);
        match language {
            Language::English => {
                let month = usize::try_from(at.month - 1)
                    .ok()
                    .and_then(|month| MONTHS.get(month))
                    .unwrap_or(&"");
                format!("{} {month} {}, {clock} UTC", at.day, at.year)
            }
            Language::Chinese => {
                format!(
                    "{} 年 {} 月 {} 日 {clock}（UTC）",
                    at.year, at.month, at.day
                )
            }
        }
    }
}

/// Days since 1970 to a date, counted in eras of 400 years that begin in March, so that a leap day is the last of its year.
fn parts(unix_s: i64) -> Parts {
    let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
    let from_march_0000 = days + 719_468;
    let (era, day_of_era) = (
        from_march_0000.div_euclid(146_097),
        from_march_0000.rem_euclid(146_097),
    );
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    Parts {
        year: era * 400 + year_of_era + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * march_month + 2) / 5 + 1,
        hour: second / 3_600,
        minute: second % 3_600 / 60,
    }
}

#[cfg(test)]
mod tests {
    use crate::views::{Language, Moment};

    #[test]
    fn moments_are_dates_of_the_gregorian_calendar() {
        for (unix_s, machine) in [
            (0, "1970-01-01T00:00Z"),
            (951_782_399, "2000-02-28T23:59Z"),
            (951_782_400, "2000-02-29T00:00Z"),
            (951_868_800, "2000-03-01T00:00Z"),
            (1_709_164_800, "2024-02-29T00:00Z"),
            (1_796_126_700, "2026-12-01T12:05Z"),
            (4_107_542_400, "2100-03-01T00:00Z"),
            (-1, "1969-12-31T23:59Z"),
        ] {
            assert_eq!(Moment { unix_s }.machine(), machine);
        }
        let moment = Moment {
            unix_s: 1_796_126_700,
        };
        assert_eq!(
            moment.human(Language::English),
            "1 December 2026, 12:05 UTC"
        );
        assert_eq!(
            moment.human(Language::Chinese),
            "2026 年 12 月 1 日 12:05（UTC）"
        );
    }
}
