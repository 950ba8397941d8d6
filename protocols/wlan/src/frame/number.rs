//! Numbers in management frames with the names of 802.11-2020: tables 9-41 (authentication algorithms), 9-49 (reasons), 9-50
//! (statuses).

/// Declares the numbers of a kind with their names.
macro_rules! numbers {
    ($(#[$kind_doc:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $number:literal),+ $(,)? }) => {
        $(#[$kind_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $kind(pub u16);

        impl $kind {
            $($(#[$doc])* pub const $name: Self = Self($number);)+

            /// The name of the standard; none of an unknown one.
            pub const fn name(self) -> Option<&'static &'static str> {
                match self.0 {
                    $($number => Some(&stringify!($name)),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }
    };
}

numbers! {
    /// How a station authenticates.
    AuthenticationAlgorithm {
        /// Without a proof.
        OPEN_SYSTEM = 0,
        /// With the WEP key that all share.
        SHARED_KEY = 1,
        /// With the PMK-R1 of fast transition.
        FAST_BSS_TRANSITION = 2,
        /// With simultaneous authentication of equals.
        SAE = 3,
        /// With FILS, without perfect forward secrecy.
        FILS_SHARED_KEY = 4,
        /// With FILS and perfect forward secrecy.
        FILS_SHARED_KEY_PFS = 5,
        /// With FILS and public keys.
        FILS_PUBLIC_KEY = 6,
    }
}

numbers! {
    /// Why an association or authentication has ended.
    ReasonCode {
        /// Nothing that has a number.
        UNSPECIFIED_REASON = 1,
        /// The authentication is not valid any more.
        INVALID_AUTHENTICATION = 2,
        /// The sender leaves.
        LEAVING_NETWORK_DEAUTH = 3,
        /// Nothing was heard for long.
        REASON_INACTIVITY = 4,
        /// The access point has too many stations.
        NO_MORE_STAS = 5,
        /// A frame of a station that is not authenticated.
        INVALID_CLASS2_FRAME = 6,
        /// A frame of a station that is not associated.
        INVALID_CLASS3_FRAME = 7,
        /// The sender leaves.
        LEAVING_NETWORK_DISASSOC = 8,
        /// A station that is not authenticated asks to associate.
        NOT_AUTHENTICATED = 9,
        /// An element with nonsense.
        INVALID_ELEMENT = 13,
        /// Countermeasures of TKIP.
        MIC_FAILURE = 14,
        /// The 4-way handshake was not completed.
        FOURWAY_HANDSHAKE_TIMEOUT = 15,
        /// The group key handshake was not completed.
        GK_HANDSHAKE_TIMEOUT = 16,
        /// An element of the 4-way handshake is not that of the association.
        HANDSHAKE_ELEMENT_MISMATCH = 17,
        /// The group cipher is not offered.
        INVALID_GROUP_CIPHER = 18,
        /// The pairwise cipher is not offered.
        INVALID_PAIRWISE_CIPHER = 19,
        /// The AKM is not offered.
        INVALID_AKMP = 20,
        /// An unknown version of the RSNE.
        UNSUPPORTED_RSNE_VERSION = 21,
        /// Capabilities that are not allowed.
        INVALID_RSNE_CAPABILITIES = 22,
        /// 802.1X has failed; the standard writes its name with digits first.
        IEEE_802_1X_AUTH_FAILED = 23,
        /// The cipher is against the policy.
        CIPHER_OUT_OF_POLICY = 24,
        /// No PMK has this identifier.
        INVALID_PMKID = 49,
        /// Another mobility domain.
        INVALID_MDE = 50,
        /// A fast transition that proves nothing.
        INVALID_FTE = 51,
    }
}

numbers! {
    /// What came of a request.
    StatusCode {
        /// It is granted.
        SUCCESS = 0,
        /// It is refused for a reason without a number.
        REFUSED = 1,
        /// What is asked for cannot be had.
        REFUSED_CAPABILITIES_MISMATCH = 10,
        /// There is no association to transfer.
        DENIED_NO_ASSOCIATION_EXISTS = 11,
        /// It is refused for a reason outside of the standard.
        DENIED_OTHER_REASON = 12,
        /// Another algorithm is wanted.
        UNSUPPORTED_AUTH_ALGORITHM = 13,
        /// Another number was expected.
        TRANSACTION_SEQUENCE_ERROR = 14,
        /// The challenge was not answered.
        CHALLENGE_FAILURE = 15,
        /// The next frame came too late.
        REJECTED_SEQUENCE_TIMEOUT = 16,
        /// The access point has too many stations.
        DENIED_NO_MORE_STAS = 17,
        /// The station lacks a basic rate.
        REFUSED_BASIC_RATES_MISMATCH = 18,
        /// The station is to ask again later, after an SA Query.
        REFUSED_TEMPORARILY = 30,
        /// Protection of management frames is asked for or refused.
        ROBUST_MANAGEMENT_POLICY_VIOLATION = 31,
        /// An element with nonsense.
        INVALID_ELEMENT = 40,
        /// The group cipher is not offered.
        INVALID_GROUP_CIPHER = 41,
        /// The pairwise cipher is not offered.
        INVALID_PAIRWISE_CIPHER = 42,
        /// The AKM is not offered.
        INVALID_AKMP = 43,
        /// An unknown version of the RSNE.
        UNSUPPORTED_RSNE_VERSION = 44,
        /// Capabilities that are not allowed.
        INVALID_RSNE_CAPABILITIES = 45,
        /// The cipher is against the policy.
        CIPHER_OUT_OF_POLICY = 46,
        /// No PMK has this identifier.
        INVALID_PMKID = 53,
        /// Another mobility domain.
        INVALID_MDE = 54,
        /// A fast transition that proves nothing.
        INVALID_FTE = 55,
        /// SAE: the station has to repeat a token first.
        ANTI_CLOGGING_TOKEN_REQUIRED = 76,
        /// SAE: another group is wanted.
        UNSUPPORTED_FINITE_CYCLIC_GROUP = 77,
        /// SAE: no password has this identifier.
        UNKNOWN_PASSWORD_IDENTIFIER = 123,
        /// SAE: the password element is that of hash-to-element.
        SAE_HASH_TO_ELEMENT = 126,
        /// SAE: the password has a public key in it.
        SAE_PK = 127,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_names_and_others_are_shown() {
        assert_eq!(StatusCode::ANTI_CLOGGING_TOKEN_REQUIRED.to_string(), "ANTI_CLOGGING_TOKEN_REQUIRED");
        assert_eq!(ReasonCode(777).to_string(), "777");
        assert_eq!(AuthenticationAlgorithm::SAE.name(), Some(&"SAE"));
    }
}
