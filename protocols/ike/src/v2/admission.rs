//! Admission of initiators to the table of half-open SAs, and eviction when it is full. Read RFC 7296 §2.6, RFC 8019 §4 first.

use std::net::IpAddr;

use keytoll_engine::Ctx;
use keytoll_net::Socket;

use super::endpoint::{Endpoint, Env, Route};
use super::event::Reason;
use super::responder;
use super::sa::Sa;
use crate::config::Responds;
use crate::half_open::{CROWD, Place, SILENCE};
use crate::names::IKE;
use crate::number::NotifyType;
use crate::wire::{Header, Notify};

impl Endpoint {
    /// Processes IKE_SA_INIT at the responder: a retransmission, one to refuse, to answer with a cookie, or to accept.
    pub(super) fn on_first_request(
        &mut self,
        header: &Header,
        route: Route,
        message: &[u8],
        cx: &mut Ctx<'_>,
    ) {
        if header.responder_spi != 0 || header.message_id != 0 || !header.flags.is_from_initiator() {
            return cx.discard(IKE, "malformed header");
        }
        let key = (route.remote, header.initiator_spi);
        if let Some(spi) = self.asked_before(key, message) {
            self.with_sa(spi, cx, |sa, env| sa.repeat_init(route, env));
            return;
        }
        if self.draining {
            return cx.discard(IKE, "draining");
        }
        if self.shared.config.responds == Responds::ToPeers && !self.knows(route.remote.ip) {
            return cx.discard(IKE, "not a responder");
        }
        let request = match responder::SaInitRequest::read(header, message) {
            Ok(request) => request,
            Err(Reason::UnsupportedCritical(kind)) => {
                let notify =
                    Notify::new(NotifyType::UNSUPPORTED_CRITICAL_PAYLOAD, std::slice::from_ref(&kind));
                return self.answer_statelessly(header, route, notify, cx);
            }
            Err(reason) => return cx.discard(IKE, reason.name()),
        };
        if self.admits(header, route, &request, cx) {
            self.answer(header, route, &request, cx);
        }
    }

    /// Whether there is an established SA with this address.
    fn knows(&self, ip: IpAddr) -> bool {
        self.known.first_from(&(ip, 0)).is_some_and(|(of, _)| *of == ip)
    }

    /// The half-open SA that exactly this IKE_SA_INIT started.
    fn asked_before(&self, key: (Socket, u64), message: &[u8]) -> Option<u64> {
        // RFC 7296 §2.1: only the whole packet distinguishes a retransmission from another peer behind the same NAT; SPI and
        // address do not.
        let mut candidates = self.half_open.candidates(key).iter().copied();
        candidates.find(|spi| self.sas.get(spi).is_some_and(|sa| sa.was_begun_by(message)))
    }

    /// RFC 7296 §2.6: under load only initiators that receive at their address get any state.
    fn admits(
        &mut self,
        header: &Header,
        route: Route,
        request: &responder::SaInitRequest<'_>,
        cx: &mut Ctx<'_>,
    ) -> bool {
        let limits = self.shared.config.half_open;
        let (spi, nonce, from) = (header.initiator_spi, request.nonce, route.remote);
        let of_origin = self.half_open.taken(from.ip, cx.now);
        // An attacker with a forged address must not take all of its places: the second half requires cookies.
        let is_crowded = limits.cookies_from < usize::MAX && of_origin >= limits.per_address_max.div_ceil(2);
        if self.half_open.count() >= limits.cookies_from || is_crowded {
            let shown =
                request.cookie.is_some_and(|cookie| self.cookies.accepts(cookie, nonce, from, spi, cx));
            if !shown {
                let cookie = self.cookies.make(nonce, from, spi, &mut self.shared.rng, cx);
                self.answer_statelessly(header, route, Notify::new(NotifyType::COOKIE, &cookie), cx);
                return false;
            }
        }
        // RFC 8019 §4.2: half-open SAs are limited per origin, so that one does not fill the table.
        let has_room = of_origin < limits.per_address_max
            && (self.half_open.count() < limits.max || self.makes_room(from.ip, cx));
        if !has_room {
            cx.discard(IKE, "too many half-open SAs");
        }
        has_room
    }

    /// Evicts the longest silent SA of the most crowded origin, if its peer should have answered by now; otherwise the longest
    /// silent of all; otherwise one of the origin with the most SAs, if it has more than the newcomer.
    fn makes_room(&mut self, newcomer: IpAddr, cx: &mut Ctx<'_>) -> bool {
        let heard = |spi| self.sas.get(&spi).map(|sa| sa.went_on(cx.now));
        let crowd = self.half_open.most_crowded(newcomer);
        let (is_crowd, of_crowd) =
            (crowd.len() >= CROWD, crowd.iter().copied().min_by_key(|spi| heard(*spi)));
        let silent = of_crowd.filter(|spi| is_crowd && heard(*spi).is_some_and(|at| at + SILENCE <= cx.now));
        let goes = silent.or_else(|| self.half_open.most_silent((cx.now, SILENCE), heard)).or(of_crowd);
        goes.is_some_and(|spi| self.with_sa(spi, cx, Sa::make_room))
    }

    fn answer(
        &mut self,
        header: &Header,
        route: Route,
        request: &responder::SaInitRequest<'_>,
        cx: &mut Ctx<'_>,
    ) {
        match responder::answer(header, route, request, &mut Env::new(&mut self.shared, cx)) {
            Ok(sa) => {
                let limits = &self.shared.config.half_open;
                let place = Place::new((route.remote, header.initiator_spi), cx.now + limits.lifetime);
                self.half_open.insert(place, sa.spi(), cx.now);
                self.keep(sa.half_open(place));
            }
            Err(refusal) => {
                cx.discard(IKE, refusal.why());
                self.answer_statelessly(header, route, refusal.notify(), cx);
            }
        }
    }
}
