//! What a page tells of how a node of ours was woken by messages.

use keytoll_live::{PAUSES_US, WakeClass, WakeSums, Wakes};

use super::{label, whole};

/// The families, in the order of the numbers of [`WakeSums`], each with what it is. Times are in nanoseconds, so that they are whole.
pub const WAKES: [(&str, &str); 7] = [
    ("keytoll_wakes_total", "How often messages have woken the process."),
    ("keytoll_wakes_timed_total", "Those of them whose message told when it had arrived."),
    ("keytoll_wake_messages_total", "Messages received and sent by a process that messages have woken."),
    ("keytoll_wake_cpu_nanoseconds_total", "CPU time from one sleep to the next."),
    ("keytoll_wake_crypto_nanoseconds_total", "The part of it in operations of cryptography."),
    (
        "keytoll_wake_answered_nanoseconds_total",
        "The part of it from being awake until the last message was about to be sent.",
    ),
    (
        "keytoll_wake_latency_nanoseconds_total",
        "Time from the arrival of the message until the process was awake, of those that are timed.",
    ),
];

/// The labels of a class: the shortest pause before, in microseconds, and how many messages were received.
pub fn labels(class: WakeClass) -> [(&'static str, String); 2] {
    [(PAUSE, class.pause_us.to_string()), (RECEIVED, received(class).to_owned())]
}

const PAUSE: &str = "pause_us";
const RECEIVED: &str = "received";

const fn received(class: WakeClass) -> &'static str {
    if class.is_several { "several" } else { "one" }
}

/// What a page tells; none if it tells nothing. Classes that we do not have are left out.
pub(super) fn of_page(page: &str) -> Option<Wakes> {
    let mut wakes = Wakes::default();
    page.lines().filter_map(told).for_each(|(class, sums)| wakes.add(class, sums));
    (wakes != Wakes::default()).then_some(wakes)
}

fn told(line: &str) -> Option<(WakeClass, WakeSums)> {
    let of = |family: usize| whole(line, WAKES[family].0).map(|found| (family, found));
    let (family, (labels, value)) = (0..WAKES.len()).find_map(of)?;
    let pause_us = label(labels, PAUSE)?.parse().ok().filter(|pause| PAUSES_US.contains(pause))?;
    let is_several = match label(labels, RECEIVED)? {
        "one" => false,
        "several" => true,
        _ => return None,
    };
    let mut numbers = [0; WAKES.len()];
    numbers[family] = value;
    Some((WakeClass { pause_us, is_several }, WakeSums::of(numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_tells_is_read_by_class() {
        let class = |pause_us, is_several| WakeClass { pause_us, is_several };
        let page: String = [(class(0, true), 1), (class(400, false), 10)]
            .into_iter()
            .flat_map(|(class, times)| {
                let labels = labels(class).map(|(name, value)| format!("{name}=\"{value}\"")).join(",");
                let line = move |(index, (name, _)): (usize, (&str, &str))| {
                    format!("{name}{{{labels}}} {}\n", times * (index + 1))
                };
                WAKES.into_iter().enumerate().map(line)
            })
            .collect();
        let wakes = of_page(&page).unwrap();
        let told: Vec<_> = wakes.classes().map(|(class, sums)| (class, sums.numbers())).collect();
        assert_eq!(
            told,
            [(class(0, true), [1, 2, 3, 4, 5, 6, 7]), (class(400, false), [10, 20, 30, 40, 50, 60, 70])]
        );
    }

    #[test]
    fn a_page_of_nonsense_tells_nothing() {
        for labels in [
            "",
            "{}",
            "{pause_us=\"0\"}",
            "{pause_us=\"7\",received=\"one\"}",
            "{pause_us=\"0\",received=\"two\"}",
        ] {
            assert_eq!(of_page(&format!("keytoll_wakes_total{labels} 3\n")), None, "{labels}");
        }
        for value in ["-1", "NaN", "1e300", "x", ""] {
            let line = format!("keytoll_wakes_total{{pause_us=\"0\",received=\"one\"}} {value}\n");
            assert_eq!(of_page(&line), None, "{value}");
        }
    }
}
