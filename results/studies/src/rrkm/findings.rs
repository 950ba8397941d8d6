//! The claims of the paper, judged: by counts, by cycles and by delays.

use super::measured::Measured;
use super::{EAP_TLS, IEEE_802_11, Kind, Method, RRKM, Side, Speed, algorithms, cells, published};
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::{Evidence, Finding, Verdict};

/// Every finding, in the order of the paper.
pub(super) fn findings(measured: Measured<'_>) -> Vec<Finding> {
    let timed = measured.0.supplement.primitives.as_ref().map(algorithms::findings);
    let claims: [fn(Measured<'_>) -> Finding; 6] = [
        rrkm_takes_what_is_printed,
        rrkm_takes_no_public_key,
        rrkm_is_approximately_no_penalty,
        rrkm_takes_little_computation,
        eap_tls_takes_what_is_printed,
        rsa_is_the_bottleneck_of_eap_tls,
    ];
    let judged = claims.into_iter().map(|claim| claim(measured));
    timed.into_iter().flatten().chain(judged).chain(cells::findings(measured.0.supplement)).collect()
}

/// Every operation of methods beside the printed one: whether they are as many, and how many there are.
fn as_printed(measured: Measured<'_>, methods: &[Method]) -> Vec<(Option<bool>, Evidence)> {
    let places = methods.iter().flat_map(|&method| Side::ALL.map(|side| (method, side)));
    let of_place = |(method, side): (Method, Side)| {
        Kind::ALL.into_iter().filter_map(move |kind| {
            let count = measured.count(method, side, kind)?;
            let printed = published::count(method, side, kind).map_or(0.0, |printed| printed.value);
            let what = format!("{} {}, {}", method.label, side.name(), kind.label());
            (count > 0.0 || printed > 0.0)
                .then(|| (Some(is_same(count, printed)), Evidence::new(what, count, "")))
        })
    };
    places.flat_map(of_place).collect()
}

/// A row's mean count is a fraction if a frame was lost and an operation repeated.
fn is_same(count: f64, printed: f64) -> bool {
    (count - printed).abs() < 0.05
}

fn rrkm_takes_what_is_printed(measured: Measured<'_>) -> Finding {
    Claim {
        name: "rrkm-takes-what-is-printed",
        claim: "IEEE 802.11 takes one WEP a side; RRKM takes another one, and one SHA-1.",
        source: "Table 4-2",
        taken_as: "each count of both methods is the printed one, and there is no other operation",
    }
    .of_cases(as_printed(measured, &[IEEE_802_11, RRKM]))
    .resting_on(RECONSTRUCTION)
}

/// The input of RRKM's counts.
const RECONSTRUCTION: &str =
    "RRKM is a reconstruction made to match Table 4-2, so its counts confirm nothing";

fn eap_tls_takes_what_is_printed(measured: Measured<'_>) -> Finding {
    Claim {
        name: "eap-tls-takes-what-is-printed",
        claim: "EAP-TLS takes RSA to verify a CA and an HMAC on either side, and RSA to encrypt and to decrypt.",
        source: "Table 4-2",
        taken_as: "each count is the printed one, and there is no other operation",
    }
    .of_cases(as_printed(measured, &[EAP_TLS]))
}

fn rrkm_takes_no_public_key(measured: Measured<'_>) -> Finding {
    let of = |method, side| {
        let public = Kind::ALL.into_iter().filter(|kind| kind.is_public_key());
        public.map(|kind| measured.count(method, side, kind)).try_fold(0.0, |sum, count| Some(sum + count?))
    };
    let places = [(RRKM, false), (EAP_TLS, true)].into_iter();
    let places = places.flat_map(|(method, has)| Side::ALL.map(|side| (method, has, side)));
    let cases = places.filter_map(|(method, has, side)| {
        let count = of(method, side)?;
        Some((
            Some((count > 0.0) == has),
            Evidence::new(format!("{} {}", method.label, side.name()), count, ""),
        ))
    });
    Claim {
        name: "rrkm-takes-no-public-key",
        claim: "EAP-TLS requires RSA, which costs a long time; RRKM only uses WEP and SHA-1.",
        source: "§4.3",
        taken_as: "RRKM has no operation with a key pair on either side, and EAP-TLS has some on both",
    }
    .of_cases(cases)
    .resting_on(RECONSTRUCTION)
}

/// RRKM's delay is "approximately" that of IEEE 802.11 up to a tenth more.
const APPROXIMATELY: f64 = 1.1;

fn rrkm_is_approximately_no_penalty(measured: Measured<'_>) -> Finding {
    let messages = |method| measured.on_air(method, |means| means.messages);
    let counted = messages(RRKM).zip(messages(IEEE_802_11)).map(|(ours, theirs)| {
        (Some(ours <= theirs), Evidence::new("more frames than IEEE 802.11", ours - theirs, ""))
    });
    let delay = |method, speed| Some(Doubtful::from(&measured.delay_ms(method, speed)?));
    let slower = |(speed, name): (Speed, &str)| {
        let ratio = delay(RRKM, speed)?.per(delay(IEEE_802_11, speed)?);
        Some((ratio.is_at_most(APPROXIMATELY), ratio.evidence(format!("delay ÷ IEEE 802.11's, {name}"), "")))
    };
    let delays = [(Speed::Mips, "mips-125"), (Speed::Host, "here")].into_iter().filter_map(slower);
    Claim {
        name: "rrkm-is-approximately-no-penalty",
        claim: "RRKM is a security enhancement with approximately zero penalty.",
        source: "introduction of chapter 4",
        taken_as: "as many frames as IEEE 802.11, and at most a tenth longer",
    }
    .of_cases(counted.into_iter().chain(delays))
}

/// "Very limited computation" is a tenth of EAP-TLS's, or less.
const VERY_LIMITED: f64 = 0.1;

fn rrkm_takes_little_computation(measured: Measured<'_>) -> Finding {
    let part = |side: Side, of: Method| {
        let ratio = measured.cycles(RRKM, side)?.per(measured.cycles(of, side)?);
        Some(ratio.evidence(format!("{} ÷ {}'s", side.name(), of.label), ""))
    };
    let cases = Side::ALL.into_iter().filter_map(|side| {
        let ratio = measured.cycles(RRKM, side)?.per(measured.cycles(EAP_TLS, side)?);
        Some(ratio.is_at_most(VERY_LIMITED))
    });
    let cases = cases.collect::<Vec<_>>();
    let evidence = [EAP_TLS, IEEE_802_11].into_iter();
    let evidence = evidence.flat_map(|of| Side::ALL.into_iter().filter_map(move |side| part(side, of)));
    Claim {
        name: "rrkm-takes-little-computation",
        claim: "RRKM takes very limited computation, and is superior to EAP-TLS.",
        source: "§4.2.1, introduction of chapter 4",
        taken_as: "at most a tenth of EAP-TLS's CPU cycles on either side, all that a side does for its frames included",
    }
    .judged(Verdict::of_doubtful(&cases), evidence.collect())
}

fn rsa_is_the_bottleneck_of_eap_tls(measured: Measured<'_>) -> Finding {
    let rsa = [Kind::RsaPublic, Kind::RsaPrivate];
    let measurements = [(Speed::Mips, "in the run"), (Speed::Host, "when it was repeated")].into_iter();
    let places = measurements.flat_map(|of| Side::ALL.map(|side| (of, side)));
    let cases = places.filter_map(|((speed, name), side)| {
        let percent = measured.share_percent(EAP_TLS, speed, side, &rsa)?;
        let what = format!("{} {name}", side.name());
        Some((Some(percent >= 50.0), Evidence::new(what, percent, "% of its operations' time")))
    });
    Claim {
        name: "rsa-is-the-bottleneck-of-eap-tls",
        claim: "The bottleneck of EAP-TLS is RSA.",
        source: "§4.3",
        taken_as: "RSA has half of the time of all cryptographic operations on either side, or more, in the run and when it is repeated",
    }
    .of_cases(cases)
}

#[cfg(test)]
mod tests {
    use super::super::example::Example;
    use super::*;
    use keytoll_analysis::summary::SummaryRow;

    fn verdict(example: &Example, name: &str) -> Verdict {
        let findings = findings(Measured(&example.material()));
        findings.into_iter().find(|finding| finding.name == name).unwrap().verdict
    }

    fn once_more(row: &mut SummaryRow) {
        row.operations.values_mut().for_each(|operations| operations[0].count += 1.0);
    }

    #[test]
    fn what_is_as_printed_holds() {
        let example = Example::as_printed();
        for name in [
            "rrkm-takes-what-is-printed",
            "rrkm-takes-no-public-key",
            "rrkm-is-approximately-no-penalty",
            "rrkm-takes-little-computation",
            "rsa-is-the-bottleneck-of-eap-tls",
        ] {
            assert_eq!(verdict(&example, name), Verdict::Holds, "{name}");
        }
        assert_eq!(verdict(&example, "eap-tls-takes-what-is-printed"), Verdict::HoldsInPart, "AES is not");
    }

    #[test]
    fn one_operation_more_is_told() {
        let example = Example::as_printed().with(RRKM, once_more);
        assert_eq!(verdict(&example, "rrkm-takes-what-is-printed"), Verdict::HoldsInPart);
        let signing = Example::as_printed().with(RRKM, |row| {
            row.operations.values_mut().for_each(|operations| operations[0].operation = "sign".into());
        });
        assert_eq!(verdict(&signing, "rrkm-takes-no-public-key"), Verdict::HoldsInPart);
    }

    #[test]
    fn a_longer_delay_is_a_penalty() {
        let later = Example::as_printed().with(RRKM, |row| {
            let delay = row.delay_ms.as_mut().unwrap();
            (delay.p50, delay.p50_ci95_low, delay.p50_ci95_high) = (20.0, Some(19.0), Some(21.0));
        });
        assert_eq!(verdict(&later, "rrkm-is-approximately-no-penalty"), Verdict::HoldsInPart);
        let longer = later.with(RRKM, |row| row.links.values_mut().for_each(|means| means.messages += 2.0));
        assert_eq!(verdict(&longer, "rrkm-is-approximately-no-penalty"), Verdict::DoesNotHold);
    }

    #[test]
    fn nothing_measured_is_not_judged() {
        let mut example = Example::as_printed();
        example.summary.rows.clear();
        example.supplement.repetitions.clear();
        for finding in findings(Measured(&example.material())) {
            assert_eq!(finding.verdict, Verdict::CannotBeJudged, "{}", finding.name);
        }
    }
}
