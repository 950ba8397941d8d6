//! What came of a row of IKEv1 as its two daemons logged it, and as `keytoll decode` and `keytoll measure` tell it from the
//! capture at keytoll's side. The two must be the same. Read RFC 2409 §5 first.

use std::fmt::Write;
use std::process::Command;

use keytoll_daemons::charon::IkeVersion;
use serde_json::Value;

use crate::lab::{Lab, Node};
use crate::run::{Trouble, line};

mod logs;

pub use logs::{keytoll, libreswan, strongswan};

/// What came of all ISAKMP SAs between two hosts, and of their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// ISAKMP SAs that were there.
    pub established: u64,
    /// ISAKMP SAs that somebody did not want.
    pub refused: u64,
    /// Of those that were there: so many took the place of others.
    pub replacing: u64,
    /// SAs for traffic that were there, a pair each.
    pub children: u64,
    /// SAs for traffic that somebody did not want.
    pub refused_children: u64,
}

/// What came of authentications: ISAKMP SAs with a child, but for those that take the place of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Authentications {
    succeeded: u64,
    failed: u64,
}

impl Verdict {
    /// What is so when the two daemons say this. Of aggressive mode the responder hears the last message, of main mode the
    /// initiator (RFC 2409 §5): whether there is an ISAKMP SA, that one knows.
    fn of_both(version: IkeVersion, device: Self, gateway: Self) -> Self {
        let knows = if version == IkeVersion::V1Aggressive { gateway } else { device };
        let established = knows.established;
        let attempts = |side: Self| side.established + side.refused;
        let without_sa = attempts(device).max(attempts(gateway)) - established;
        // What is refused under an ISAKMP SA that only one side has is that SA.
        let refused_children = |side: Self| {
            let alone = side.established.saturating_sub(established);
            side.refused_children.saturating_sub(alone)
        };
        Self {
            established,
            refused: device.refused.max(gateway.refused).min(without_sa),
            replacing: device.replacing.max(gateway.replacing),
            children: device.children.min(gateway.children),
            refused_children: refused_children(device).max(refused_children(gateway)),
        }
    }

    const fn authentications(self) -> Authentications {
        Authentications {
            succeeded: self.established.saturating_sub(self.replacing + self.refused_children),
            failed: self.refused + self.refused_children,
        }
    }
}

/// A row whose capture is judged.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The mode of its phase 1.
    pub version: IkeVersion,
    /// The lab of the row.
    pub lab: &'a Lab,
    /// The built `keytoll`.
    pub program: &'a str,
    /// Where keytoll was.
    pub keytoll: Node,
    /// How the log of the daemon on the other side is read.
    pub read: fn(&str) -> Verdict,
}

impl Judged<'_> {
    /// That the capture tells what the daemons logged; without its keys, of authentications as a whole.
    ///
    /// # Panics
    /// When it does not.
    pub fn check(&self) {
        let said = |node| {
            if node == self.keytoll { keytoll(&self.lab.log(node)) } else { (self.read)(&self.lab.log(node)) }
        };
        let logged = Verdict::of_both(self.version, said(Node::Ue), said(Node::Gw));
        let expected = logged.authentications();
        let mut wrong = String::new();
        let mut hold = |what: &str, is_same: bool, seen: &dyn std::fmt::Debug| {
            if !is_same {
                let _ = writeln!(wrong, "{what}: {seen:?}");
            }
        };
        for keys in [true, false] {
            let measured = measured(&self.ask("measure", keys));
            hold(if keys { "measure" } else { "measure without keys" }, measured == expected, &measured);
        }
        let decoded = decoded(&self.ask("decode", true));
        hold("decode", decoded == logged, &decoded);
        assert!(
            wrong.is_empty(),
            "the daemons logged {logged:?}, {expected:?}; the capture tells\n{wrong}{}",
            self.lab.last_words()
        );
    }

    /// What `keytoll VERB` says of the capture, as JSON.
    fn ask(&self, verb: &str, with_keys: bool) -> Value {
        let capture = self.lab.dir(self.keytoll).join(format!("{}.pcapng", self.keytoll.name()));
        let mut command = Command::new(self.program);
        command.args([verb, "--json"]).arg(&capture);
        if with_keys {
            command.arg("--keys").arg(capture.with_extension("keys"));
        }
        // Where nothing succeeded `measure` says so by its exit code, too.
        let output = command
            .output()
            .unwrap_or_else(|source| panic!("{}", Trouble::Start { command: line(&command), source }));
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|why| panic!("{}: {why}: {}", line(&command), said()))
    }
}

fn members(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The document of `keytoll decode --json`, where ISAKMP SAs that replace others are in the conversation of the first.
fn decoded(document: &Value) -> Verdict {
    let mut verdict = Verdict::default();
    for conversation in members(&document["conversations"]) {
        let [phase_1, quick_mode] = ["phase_1", "quick_mode"].map(|kind| &conversation["exchanges"][kind]);
        // What somebody refused by a message that nobody else can open is not seen to be refused, but has failed.
        let is_failed = conversation["outcome"]["name"] == "failed";
        let sealed = |kind: &Value| if is_failed { number(&kind["unseen"]) } else { 0 };
        verdict.established += number(&phase_1["established"]);
        verdict.refused += number(&phase_1["refused"]) + sealed(phase_1);
        verdict.replacing += number(&phase_1["established"]).saturating_sub(1);
        verdict.children += number(&quick_mode["established"]);
        verdict.refused_children += number(&quick_mode["refused"]);
    }
    verdict
}

/// The document of `keytoll measure --json`.
fn measured(document: &Value) -> Authentications {
    let rows = members(&document["rows"]);
    // Who waits in vain is not refused.
    let is_refusal = |why: &str| !why.ends_with("timeout") && why != "unfinished";
    let failures = rows.iter().filter_map(|row| row["failures"].as_object()).flatten();
    Authentications {
        succeeded: rows.iter().map(|row| number(&row["succeeded"])).sum(),
        failed: failures.filter(|(why, _)| is_refusal(why)).map(|(_, count)| number(count)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Aggressive mode: the initiator has said its last, the responder refuses it; a child under it is nobody's.
    #[test]
    fn whoever_hears_the_last_message_knows() {
        let initiator = Verdict { established: 1, refused_children: 1, ..Verdict::default() };
        let responder = Verdict { refused: 1, ..Verdict::default() };
        assert_eq!(Verdict::of_both(IkeVersion::V1Aggressive, initiator, responder), responder);
        // The responder refuses the child, which its initiator takes for a refusal of the whole.
        assert_eq!(Verdict::of_both(IkeVersion::V1Aggressive, responder, initiator), initiator);
    }

    #[test]
    fn what_cannot_be_read_is_refused_where_it_fails() {
        let document = |outcome: &str| {
            let phase_1 = serde_json::json!({ "established": 2, "unseen": 1 });
            let quick_mode = serde_json::json!({ "established": 1, "refused": 1 });
            let exchanges = serde_json::json!({ "phase_1": phase_1, "quick_mode": quick_mode });
            serde_json::json!({ "conversations": [{ "outcome": { "name": outcome }, "exchanges": exchanges }] })
        };
        let seen = Verdict { established: 2, refused: 0, replacing: 1, children: 1, refused_children: 1 };
        assert_eq!(decoded(&document("established")), seen);
        assert_eq!(decoded(&document("failed")), Verdict { refused: 1, ..seen });
    }
}
