//! What each daemon's log says came of ISAKMP SAs and their children.

use std::collections::{BTreeMap, BTreeSet};

use super::Verdict;

/// One ISAKMP SA of strongSwan's, by what it logs under its number.
#[derive(Debug, Default)]
struct Sa<'a> {
    established: bool,
    replaces: bool,
    children: BTreeSet<&'a str>,
    /// Somebody said no before there was an ISAKMP SA, or after it.
    refused: [bool; 2],
}

/// What strongSwan logged: `13[IKE] <c|1> IKE_SA c[1] established between …`. It says some things again and again, so that
/// numbers are counted.
pub fn strongswan(log: &str) -> Verdict {
    let mut sas: BTreeMap<&str, Sa<'_>> = BTreeMap::new();
    for line in log.lines() {
        let named = line.split_once("] <").and_then(|(_, rest)| rest.split_once("> "));
        if let Some((name, words)) = named {
            let number = name.rsplit('|').next().unwrap_or(name);
            sas.entry(number).or_default().take(words);
        }
    }
    let count = |is_so: &dyn Fn(&Sa<'_>) -> bool| sas.values().filter(|sa| is_so(sa)).count() as u64;
    Verdict {
        established: count(&|sa| sa.established),
        refused: count(&|sa| sa.refused[0]),
        replacing: count(&|sa| sa.replaces),
        children: sas.values().flat_map(|sa| &sa.children).collect::<BTreeSet<_>>().len() as u64,
        refused_children: count(&|sa| sa.refused[1]),
    }
}

impl<'a> Sa<'a> {
    fn take(&mut self, words: &'a str) {
        if words.starts_with("IKE_SA ") && words.contains(" established between ") {
            self.established = true;
        }
        if let Some((child, _)) =
            words.strip_prefix("CHILD_SA ").and_then(|rest| rest.split_once(" established with "))
        {
            self.children.insert(child);
        }
        // Who begins to replace it says so under the old one.
        self.replaces |= words.starts_with("detected reauth of existing IKE_SA");
        let is_deleted = words.starts_with("deleting IKE_SA ") && !self.established;
        if is_error(words) || is_deleted {
            self.refused[usize::from(self.established)] = true;
        }
    }
}

/// A message that reports an error, in strongSwan's names: `generating INFORMATIONAL_V1 request 1 [ HASH N(NO_PROP) ]`.
fn is_error(words: &str) -> bool {
    let is_informational = ["generating INFORMATIONAL_V1 ", "parsed INFORMATIONAL_V1 "];
    let is_informational = is_informational.iter().any(|begin| words.starts_with(begin));
    let mut notified = words.split("N(").skip(1).map(|rest| rest.split(')').next().unwrap_or(rest));
    is_informational && notified.any(|name| !["DPD", "DPD_ACK", "INITIAL_CONTACT"].contains(&name))
}

/// What keytoll logged: `2026-11-23T19:29:32Z  INFO keytoll: established spi=…`.
pub fn keytoll(log: &str) -> Verdict {
    let mut verdict = Verdict::default();
    for line in log.lines() {
        let Some((_, told)) = line.split_once(" keytoll: ") else { continue };
        let count = match told.split(' ').next().unwrap_or(told) {
            "established" => &mut verdict.established,
            "rekeyed" => {
                verdict.established += 1;
                &mut verdict.replacing
            }
            "child-up" | "child-rekeyed" => &mut verdict.children,
            // Who waited in vain was not refused.
            _ if told.contains("why=timeout") => continue,
            "failed" => &mut verdict.refused,
            "child-failed" => &mut verdict.refused_children,
            _ => continue,
        };
        *count += 1;
    }
    verdict
}

/// What libreswan logged: `"c" #1: IKE SA established {…}`, `"c"[1] 10.99.1.253 #2: IPsec SA established tunnel mode {…}`. Each
/// exchange has a number of its own; there is one ISAKMP SA at a time.
pub fn libreswan(log: &str) -> Verdict {
    let [mut established, mut children] = [BTreeSet::new(), BTreeSet::new()];
    let mut refused = [BTreeSet::new(), BTreeSet::new()];
    for line in log.lines() {
        let named = line.split_once(" #").and_then(|(_, rest)| rest.split_once(": "));
        let Some((number, words)) = named else { continue };
        if words.starts_with("IKE SA established") {
            established.insert(number);
        } else if words.starts_with("IPsec SA established") {
            children.insert(number);
        } else if is_refusal(words) || (is_end(words) && !established.contains(number)) {
            refused[usize::from(!established.is_empty())].insert(number);
        }
    }
    let [refused, refused_children] = refused.map(|numbers| numbers.len() as u64);
    let (established, children) = (established.len() as u64, children.len() as u64);
    Verdict { established, refused, replacing: 0, children, refused_children }
}

/// `sending notification NO_PROPOSAL_CHOSEN to 10.99.1.1:500`, `ignoring informational payload NO_PROPOSAL_CHOSEN, msgid=…`,
/// `received 1 malformed payload notifies`.
fn is_refusal(words: &str) -> bool {
    let told =
        ["sending notification ", "sending encrypted notification ", "ignoring informational payload "];
    let name = told.into_iter().find_map(|begin| words.strip_prefix(begin));
    let is_error = name.is_some_and(|name| !name.starts_with("IPSEC_INITIAL_CONTACT"));
    is_error || words.ends_with(" malformed payload notifies")
}

/// The end of phase 1 at its responder, which does not log every notification that it sends before.
fn is_end(words: &str) -> bool {
    ["deleting state (STATE_MAIN_R", "deleting state (STATE_AGGR_R"]
        .iter()
        .any(|begin| words.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The device tries twice, and is believed in once.
    #[test]
    fn strongswan_numbers_what_it_does() {
        let log = "\
04[ENC] <1> parsed ID_PROT request 0 [ SA V V ]
04[ENC] <1> generating INFORMATIONAL_V1 request 20547722 [ N(NO_PROP) ]
04[ENC] <1> generating INFORMATIONAL_V1 request 20547723 [ N(NO_PROP) ]
05[IKE] <c|2> IKE_SA c[2] established between 10.99.1.2[gw.lab]...10.99.1.1[ue@lab]
05[ENC] <c|2> parsed INFORMATIONAL_V1 request 1454896547 [ HASH N(DPD) ]
06[IKE] <c|2> CHILD_SA net{1} established with SPIs c1_i c2_o and TS 10.98.2.0/24 === 10.98.1.0/24
06[IKE] <c|2> IKE_SA c[2] established between 10.99.1.2[gw.lab]...10.99.1.1[ue@lab]
07[IKE] <c|3> IKE_SA c[3] established between 10.99.1.2[gw.lab]...10.99.1.1[ue@lab]
07[IKE] <c|2> detected reauth of existing IKE_SA, adopting 1 children, 0 child tasks, and 0 virtual IPs
08[ENC] <c|3> generating INFORMATIONAL_V1 request 1645399287 [ HASH N(NO_PROP) ]
09[IKE] <c|3> deleting IKE_SA c[3] between 10.99.1.2[gw.lab]...10.99.1.1[ue@lab]
";
        let expected = Verdict { established: 2, refused: 1, replacing: 1, children: 1, refused_children: 1 };
        assert_eq!(strongswan(log), expected);
        let doubted = "09[IKE] <c|1> deleting IKE_SA c[1] between 10.99.1.2[gw.lab]...10.99.1.1[ue@lab]";
        assert_eq!(strongswan(doubted), Verdict { refused: 1, ..Verdict::default() });
    }

    #[test]
    fn libreswan_numbers_every_exchange() {
        let log = "\
Nov 23 19:48:37.1: \"c\" #1: ignoring informational payload IPSEC_INITIAL_CONTACT, msgid=00000000, length=28
Nov 23 19:48:37.2: \"c\"[1] 10.99.1.253 #1: IKE SA established {auth=PRESHARED_KEY cipher=AES_CBC_128}
Nov 23 19:48:37.3: \"c\" #2: IPsec SA established tunnel mode {ESPinUDP=>0xf7c81b55 <0xa9a08924}
Nov 23 19:48:37.4: \"c\" #3: sending encrypted notification NO_PROPOSAL_CHOSEN to 10.99.1.1:4500
Nov 23 19:48:37.5: \"c\" #1: deleting state (STATE_MAIN_R3) aged 0.009239s and sending notification
";
        let expected = Verdict { established: 1, children: 1, refused_children: 1, ..Verdict::default() };
        assert_eq!(libreswan(log), expected);
        for refuses in [
            "deleting state (STATE_AGGR_R1) aged 0.05778s and NOT sending notification",
            "sending notification INVALID_HASH_INFORMATION to 10.99.1.2:500",
            "received 2 malformed payload notifies",
        ] {
            let log = format!("Nov 23 19:48:40.9: \"c\" #1: {refuses}\n");
            assert_eq!(libreswan(&log), Verdict { refused: 1, ..Verdict::default() }, "{refuses}");
        }
    }

    #[test]
    fn who_waited_in_vain_was_not_refused() {
        let log = "\
2026-11-23T19:48:37Z  INFO keytoll: established spi=01 peer=gw.lab
2026-11-23T19:48:38Z  INFO keytoll: child-up spi=01
2026-11-23T19:48:38Z  INFO keytoll: child-rekeyed spi=01
2026-11-23T19:48:39Z  INFO keytoll: rekeyed spi=02 old_spi=01
2026-11-23T19:48:40Z  WARN keytoll: child-failed spi=02 why=NO_PROPOSAL_CHOSEN
2026-11-23T19:48:40Z  WARN keytoll: failed spi=03 why=timeout remote=10.99.1.2:4500
2026-11-23T19:48:40Z  WARN fact: failed why=\"timeout\"
";
        let expected = Verdict { established: 2, refused: 0, replacing: 1, children: 2, refused_children: 1 };
        assert_eq!(keytoll(log), expected);
    }
}
