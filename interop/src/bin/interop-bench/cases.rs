//! What is measured.

/// How both sides of IKE prove themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A shared key.
    Psk,
    /// RSA with 2048 bits, a root and a leaf on either side.
    Rsa2048,
}

/// A handshake of IKE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) proof: Proof,
    /// As both programs write it, but for x25519.
    pub(crate) ike: &'static str,
    /// The suite of its child; none: childless.
    pub(crate) esp: Option<&'static str>,
    /// The most that keytoll may take of strongSwan's CPU time, fastest configuration.
    pub(crate) aim: f64,
}

impl Case {
    /// All of them.
    pub(crate) const ALL: &[Self] = &[
        Self::psk("aes128-sha256-x25519", None),
        Self::psk("aes128-sha256-x25519", Some("aes128-sha256")),
        Self::psk("aes128gcm16-prfsha256-x25519", None),
        Self::psk("aes128-sha256-ecp256", None),
        Self::psk("aes128-sha256-modp2048", None),
        Self::rsa("aes128-sha256-x25519", None),
        Self::rsa("aes128-sha256-x25519", Some("aes128-sha256")),
    ];

    /// What gateways are flooded with.
    pub(crate) const FLOODED: Self = Self::psk("aes128-sha256-x25519", Some("aes128-sha256"));

    const fn psk(ike: &'static str, esp: Option<&'static str>) -> Self {
        Self { proof: Proof::Psk, ike, esp, aim: 0.2 }
    }

    const fn rsa(ike: &'static str, esp: Option<&'static str>) -> Self {
        Self { proof: Proof::Rsa2048, ike, esp, aim: 0.25 }
    }

    /// The suite in strongSwan's words.
    pub(crate) fn strongswan_ike(&self) -> String {
        self.ike.replace("x25519", "curve25519")
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let proof = match self.proof {
            Proof::Psk => "PSK",
            Proof::Rsa2048 => "RSA-2048",
        };
        let child = if self.esp.is_some() { ", child" } else { ", childless" };
        write!(f, "{proof}, {}{child}", self.ike)
    }
}
