//! The device. One that has nothing to do *stands*: its SA is kept and little else, and the rest is made again when something
//! happens ([`Engine::rest`]). So a population may have a million of them.
//!
//! ```text
//!   Awake --rest, if nothing is under way--> Standing --any input--> Awake, as it was
//! ```

mod awake;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::Seed;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_ike::config::{Connection, Responds};
use keytoll_ike::{Config, Setup};
use keytoll_net::{Addr, ip::protocol::ESP};

use crate::event::{Event, Naming};
use crate::ipsec::SaLimits;
use crate::supplicant::EapCredentials;
use crate::user_plane;
use crate::{Host, Order, ike};
use awake::Awake;

/// The configuration of a device.
#[derive(Debug, Clone)]
pub struct DeviceConfig {
    /// Its IKE endpoint; connection 0 leads to the gateway.
    pub ike: Config,
    /// Its address on the access network.
    pub address: IpAddr,
    /// The gateway's address.
    pub gateway: IpAddr,
    /// Its address inside the tunnel, if it has one of its own.
    pub inner: Option<IpAddr>,
    /// The destination of its echo requests: the gateway itself, or an address behind it.
    pub target: IpAddr,
    /// Its EAP credentials, if connection 0 uses EAP.
    pub eap: Option<EapCredentials>,
}

/// What many devices have in common.
#[derive(Debug, Clone)]
pub struct DeviceSetup {
    ike: Setup,
    gateway: IpAddr,
    inner: Option<IpAddr>,
    target: IpAddr,
    limits: SaLimits,
    name: String,
}

impl DeviceSetup {
    /// What this configuration says of all devices; random streams are named `{name}/…`.
    pub fn new(config: DeviceConfig, name: &str) -> Self {
        let DeviceConfig { ike, gateway, inner, target, .. } = config;
        let ike = Setup::new(Config { responds: Responds::ToPeers, ..ike });
        Self { ike, gateway, inner, target, limits: SaLimits::default(), name: name.to_owned() }
    }

    /// Limits the lifetime of their traffic SAs; at the soft limit a device rekeys them.
    #[must_use]
    pub const fn with_limits(mut self, limits: SaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The connection to the gateway.
    fn first(&self) -> Option<&Connection> {
        self.ike.config().connections.first()
    }
}

/// Who a device is. It is asked anew for every authentication, so that a device that stands need not keep the answers.
pub trait Person: fmt::Debug + Send + Sync {
    /// Its identity and proofs, in a connection in place of the one in the setup; `None`: that one.
    fn terms(&self) -> Option<Arc<Connection>>;

    /// The root of its random streams.
    fn seed(&self) -> Seed;
}

/// The only device with its setup.
#[derive(Debug)]
struct Alone(Seed);

impl Person for Alone {
    fn terms(&self) -> Option<Arc<Connection>> {
        None
    }

    fn seed(&self) -> Seed {
        self.0.clone()
    }
}

/// What is a device's own.
#[derive(Debug)]
struct Own {
    address: IpAddr,
    person: Box<dyn Person>,
    eap: Option<Box<EapCredentials>>,
}

impl Own {
    fn alone(config: &DeviceConfig, seed: &Seed) -> Self {
        let eap = config.eap.clone().map(Box::new);
        Self { address: config.address, person: Box::new(Alone(seed.clone())), eap }
    }
}

/// What is kept of a device that stands.
#[derive(Debug)]
struct Standing {
    setup: Arc<DeviceSetup>,
    own: Own,
    ike: keytoll_ike::Standing,
    user: user_plane::Standing,
    /// How much its EAP has drawn.
    eap_drawn: u64,
}

impl Standing {
    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.ike.deadline(), self.user.deadline())
    }

    /// Forgets SAs that are kept for a while after they were closed or replaced. Whether that is all that a tick now would do:
    /// nobody sees anything of it.
    fn only_forgets(&mut self, now: Time) -> bool {
        if self.ike.is_in_use_due(now) {
            return false;
        }
        let are_over = [self.ike.forget(now), self.user.tick(now)];
        are_over.contains(&true)
    }
}

/// The device.
#[derive(Debug)]
pub struct Device(State);

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "of a million devices most stand, and a box around that would be one more for each"
)]
enum State {
    Awake(Box<Awake>),
    Standing(Standing),
    /// Between the two.
    Changing,
}

impl Device {
    /// A device whose random streams are named `{name}/…`.
    pub fn new(config: DeviceConfig, seed: &Seed, name: &str) -> Self {
        let own = Own::alone(&config, seed);
        Self(State::Awake(Box::new(Awake::new(Arc::new(DeviceSetup::new(config, name)), own))))
    }

    /// One of many devices: at this address, a person of its own, with these credentials if it proves itself with EAP. As a
    /// responder it has the identity of the setup.
    pub fn of(
        setup: &Arc<DeviceSetup>,
        address: IpAddr,
        person: Box<dyn Person>,
        eap: Option<EapCredentials>,
    ) -> Self {
        let own = Own { address, person, eap: eap.map(Box::new) };
        Self(State::Awake(Box::new(Awake::new(Arc::clone(setup), own))))
    }

    /// Limits the lifetime of its traffic SAs; at the soft limit it rekeys them.
    #[must_use]
    pub fn with_limits(mut self, limits: SaLimits) -> Self {
        self.awake().limit(limits);
        self
    }

    fn awake(&mut self) -> &mut Awake {
        if matches!(self.0, State::Standing(_))
            && let State::Standing(standing) = std::mem::replace(&mut self.0, State::Changing)
        {
            self.0 = State::Awake(Box::new(Awake::resume(standing)));
        }
        match &mut self.0 {
            State::Awake(awake) => awake,
            State::Standing(_) | State::Changing => unreachable!("it has just been woken"),
        }
    }
}

impl Host for Device {
    fn naming(&self) -> Naming {
        ike::NAMING
    }

    fn attach_interface(&mut self) {
        self.awake().attach_interface();
    }

    fn user_ends(&self) -> Option<[IpAddr; 2]> {
        match &self.0 {
            State::Awake(awake) => awake.user_ends(),
            State::Standing(standing) => Some(standing.user.ends()),
            State::Changing => None,
        }
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![("IKE SAs that are being closed", self.under_way_count())]
    }

    fn under_way_count(&self) -> usize {
        if let State::Awake(awake) = &self.0 { awake.closing_count() } else { 0 }
    }
}

impl Engine for Device {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        if let (State::Standing(standing), Input::Tick) = (&mut self.0, &input)
            && standing.only_forgets(cx.now)
        {
            return;
        }
        self.awake().handle(input, cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        if let State::Awake(awake) = &mut self.0 { awake.poll() } else { None }
    }

    fn deadline(&self) -> Option<Deadline> {
        match &self.0 {
            State::Awake(awake) => awake.deadline(),
            State::Standing(standing) => standing.deadline(),
            State::Changing => None,
        }
    }

    fn rest(&mut self) {
        // Most are asked in the middle of something, and are not moved for it.
        if !matches!(&self.0, State::Awake(awake) if awake.is_idle()) {
            return;
        }
        self.0 = match std::mem::replace(&mut self.0, State::Changing) {
            State::Awake(awake) => awake.stand().map_or_else(State::Awake, State::Standing),
            other => other,
        };
    }
}

// RFC 3948 §2.2: on the NAT-T port four zero bytes announce IKE, anything else is ESP.
/// The ESP packet in a datagram, whether in UDP or directly over IP.
pub(crate) fn esp_payload<'a>(config: &Config, to: Addr, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let is_marked = bytes.first_chunk() == Some(&[0; 4]);
    let is_esp = match to {
        Addr::Ip { protocol, .. } => protocol == ESP,
        Addr::Udp(to) => to.port == config.nat_port && bytes.len() > 4 && !is_marked,
        Addr::Tcp(_) | Addr::Sctp(_) | Addr::Mac(_) => false,
    };
    is_esp.then_some(bytes)
}
