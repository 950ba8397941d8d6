//! A device's user plane at rest: the pair of SAs in use and those it has replaced, its addresses, and how much it has drawn.

use std::net::IpAddr;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Deadline, Time};

use super::{Requester, UserPlane, requester};
use crate::ipsec::{self, SaLimits, SaTable};

/// What is kept.
#[derive(Debug)]
pub struct Standing {
    sas: ipsec::Standing,
    drawn: u64,
    echoes: requester::Standing,
}

impl Standing {
    /// Our address inside the SAs, and that of whom we request echoes.
    pub const fn ends(&self) -> [IpAddr; 2] {
        self.echoes.ends()
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Deadline> {
        self.sas.deadline()
    }

    /// Something may be due; whether something was.
    pub fn tick(&mut self, now: Time) -> bool {
        self.sas.expire(now)
    }
}

impl UserPlane<Requester> {
    /// Takes out what must be remembered; `None` if that is more than is kept at rest.
    pub fn stand(&mut self) -> Option<Standing> {
        if self.station.is_some() || self.has_interface {
            return None;
        }
        let echoes = self.echoes.stand()?;
        Some(Standing { sas: self.sas.stand()?, drawn: self.rng.drawn(), echoes })
    }

    /// The user plane as it was; `rng` is its random stream from the beginning.
    pub fn resume(limits: SaLimits, mut rng: Rng, Standing { sas, drawn, echoes }: Standing) -> Self {
        rng.go_to(drawn);
        Self::over(SaTable::resume(limits, sas), Requester::resume(echoes), rng)
    }
}
