//! The names under which results count why an association failed or ended.

use keytoll_hosts::event::Reason;
use keytoll_wlan::access_point::Ended;
use keytoll_wlan::handshake;
use keytoll_wlan::station::Failure;
use keytoll_wlan::{dot1x, sae, shared_key};

/// Why a station is no member.
pub(super) fn of_station(why: &Failure) -> Reason {
    let (name, is_hearsay) = match why {
        Failure::Timeout => ("timeout", false),
        Failure::NoCommonSuite => ("no suite in common", false),
        Failure::Refused(_) => ("refused with a status", true),
        Failure::Ended(_) => ("deauthenticated", true),
        Failure::Sae(why) => (of_sae(why), false),
        Failure::Authentication(why) => (of_challenge(why), matches!(why, shared_key::Failure::Refused(_))),
        Failure::MissedEpochs(_) => (MISSED_EPOCHS, false),
        Failure::EapFailed => ("EAP failed", false),
        Failure::NoKey => ("no key", false),
        Failure::Handshake(why) => (of_handshake(*why), false),
        Failure::Asked => ("left", false),
    };
    Reason { name, detail: Some(why.to_string().into()), is_hearsay }
}

/// Why a station is no member at its access point.
pub(super) fn of_access_point(why: &Ended) -> Reason {
    let (name, is_hearsay) = match why {
        Ended::Left(_) => ("left", true),
        Ended::Anew => ("associated anew", false),
        Ended::Authentication(why) => (of_challenge(why), false),
        Ended::Sae(why) => (of_sae(why), false),
        Ended::MissedEpochs(_) => (MISSED_EPOCHS, false),
        Ended::Displaced | Ended::Dot1x(dot1x::Ended::Displaced) => ("displaced", false),
        Ended::Dot1x(dot1x::Ended::EapFailed) => ("EAP failed", true),
        Ended::Dot1x(dot1x::Ended::Unanswered) => ("timeout", false),
        Ended::Dot1x(dot1x::Ended::ServerSilent) => ("EAP server does not answer", false),
        Ended::Dot1x(dot1x::Ended::Held) => ("held after a failure", false),
        Ended::Dot1x(dot1x::Ended::LoggedOff) => ("logged off", true),
        Ended::Handshake(why) => (of_handshake(*why), false),
        Ended::NoKey => ("EAP without a key", false),
        Ended::Asked => ("disconnected", false),
    };
    Reason { name, detail: Some(why.to_string().into()), is_hearsay }
}

const MISSED_EPOCHS: &str = "too many epochs missed";

const fn of_challenge(why: &shared_key::Failure) -> &'static str {
    match why {
        shared_key::Failure::Unreadable(_) => "authentication frame unreadable",
        shared_key::Failure::NoKey => "no key for this station",
        shared_key::Failure::Algorithm => "another authentication algorithm",
        shared_key::Failure::Sequence => "authentication frame out of sequence",
        shared_key::Failure::Encryption(_) => "challenge under another key",
        shared_key::Failure::Challenge | shared_key::Failure::RepeatedIv => "wrong challenge",
        shared_key::Failure::Signature => "wrong signature",
        shared_key::Failure::Timeout => "timeout",
        shared_key::Failure::Refused(_) => "refused with a status",
    }
}

const fn of_handshake(why: handshake::Reason) -> &'static str {
    match why {
        handshake::Reason::Timeout => "4-way handshake timeout",
        handshake::Reason::WrongKey => "4-way handshake under another key",
        handshake::Reason::GroupTimeout => "group key handshake timeout",
        handshake::Reason::ElementsDiffer => "elements differ",
        handshake::Reason::AnotherPmkR1 | handshake::Reason::AnotherMde | handshake::Reason::AnotherFte => {
            "fast transition differs"
        }
        handshake::Reason::GroupKeyUnusable => "group key that cannot be used",
    }
}

const fn of_sae(why: &sae::Failure) -> &'static str {
    match why {
        sae::Failure::NoAnswer => "timeout",
        sae::Failure::WrongConfirm => "SAE with another password",
        sae::Failure::Refused(_) => "SAE refused",
        sae::Failure::NoGroup => "SAE without a group in common",
    }
}
