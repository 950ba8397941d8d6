//! A station that authenticates with SAE: 802.11-2020 §12.4.

use keytoll_engine::{Ctx, Output};

use super::joining::{Authenticated, Found};
use super::{Failure, State, Station};
use crate::bss::{self, Credential};
use crate::frame::management::Authentication;
use crate::handshake::{Pmksa, PmksaCache};
use crate::sae::{self, Method, Sae};
use crate::suite::Akm;

/// Waits for the access point's commit and confirm.
#[derive(Debug)]
pub(super) struct Proving {
    pub(super) found: Found,
    pub(super) sae: Sae,
}

impl Proving {
    pub(super) fn on_frame(&mut self, frame: &Authentication<'_>, cx: &mut Ctx<'_>) -> Vec<sae::Output> {
        bss::sae_heard(&mut self.sae, self.found.bssid, frame, cx)
    }
}

impl Station {
    /// Authenticates with the password to this access point.
    pub(super) fn prove(&mut self, found: Found, cx: &mut Ctx<'_>) {
        let Some(password) = self.config.password.clone() else { return self.end(Failure::NoKey) };
        let (own, rng) = (self.config.address, self.rng.seed().stream("sae"));
        let mut sae = bss::sae(own, false, password, rng);
        let begun = sae.begin(found.bssid, Method::HashToElement, cx);
        self.state = State::Proving(Box::new(Proving { found, sae }));
        match begun {
            Ok(outputs) => self.on_sae(outputs, cx),
            Err(_) => self.end(Failure::NoKey),
        }
    }

    pub(super) fn on_sae(&mut self, outputs: Vec<sae::Output>, cx: &mut Ctx<'_>) {
        for output in outputs {
            let State::Proving(wait) = &self.state else { return };
            match output {
                sae::Output::Send(message) => {
                    let body = bss::sae_frame(&message);
                    let bssid = wait.found.bssid;
                    let frame = self.air.manage((bssid, bssid), &body, false, cx.trace);
                    self.out.push_back(Output::Datagram(frame));
                }
                sae::Output::Accepted { pmk, pmkid, .. } => {
                    let until = cx.now + PmksaCache::LIFETIME;
                    let pmksa = Pmksa { pmkid, pmk: pmk.clone(), akm: Akm::Sae, until };
                    self.pmksas.insert(wait.found.bssid, pmksa);
                    let (found, credential) = (wait.found.clone(), Credential::Pmk(pmk, pmkid));
                    self.associate(Authenticated { found, credential }, cx);
                }
                sae::Output::Failed { why, .. } => self.end(Failure::Sae(why)),
            }
        }
    }
}
