//! Every EAP method in every chain of peers: the cells of `RESULTS.md`. Read RFC 7296 §2.16 (EAP in IKEv2), RFC 3579
//! (EAP in RADIUS) and RFC 2548 §2.4 (its keys) first.

use keytoll_interop::chain::{Chain, Outcome, Setting, key_kind};
use keytoll_interop::eap::{Login, Method};
use keytoll_interop::{Lab, Pki, Trouble, eap_rows, eap_tests, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What is known to come of it, does.
fn check(chain: Chain, method: Method) {
    let outcome = chain.outcome(method);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(authenticate(&lab, chain, method), &lab);
}

fn authenticate(lab: &Lab, chain: Chain, method: Method) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), key_kind(method))?;
    let setting = Setting { lab, program: PROGRAM, login: Login::new(method), pki: &pki, aaa: &pki };
    setting.authenticate(chain)
}

mod freeradius {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::FreeRadius, method)));
}

mod hostapd {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::Hostapd, method)));
}

mod eapol_test {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::EapolTest, method)));
}

mod charon_device {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::CharonDevice, method)));
}

mod charon_gateway {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::CharonGateway, method)));
}

mod charon_gateway_freeradius {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::CharonGatewayFreeRadius, method)));
}

mod charon_device_freeradius {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::CharonDeviceFreeRadius, method)));
}

/// The methods with TLS once more with chains of four certificates on both sides: nothing of theirs fits one packet of EAP.
mod long_chains {
    use super::*;
    use keytoll_interop::KeyKind;
    use keytoll_interop::eap::{Binding, Version};

    fn check(chain: Chain, method: Method) {
        let Some(lab) = lab_or_skip() else { return };
        let authenticated = (|| {
            let pki = Pki::make_chains(lab.shared_dir(), KeyKind::Rsa2048, 4)?;
            let setting =
                Setting { lab: &lab, program: PROGRAM, login: Login::new(method), pki: &pki, aaa: &pki };
            setting.authenticate(chain)
        })();
        authenticated.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
    }

    macro_rules! four_by {
        ($($chain:ident: $name:ident;)*) => { $(
            mod $name {
                use super::*;

                #[test]
                fn tls_1_2() {
                    check(Chain::$chain, Method::over(Version::Tls12, "tls"));
                }

                #[test]
                fn tls_1_3() {
                    check(Chain::$chain, Method::over(Version::Tls13, "tls"));
                }

                #[test]
                fn ttls() {
                    check(Chain::$chain, Method::over(Version::Tls12, "ttls-md5"));
                }

                #[test]
                fn peap() {
                    check(Chain::$chain, Method::bound(Binding::Off, Version::Tls12, "peap-mschapv2"));
                }
            }
        )* };
    }

    four_by! {
        FreeRadius: freeradius;
        Hostapd: hostapd;
        EapolTest: eapol_test;
    }
}
