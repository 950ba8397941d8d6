//! Every test with foreign programs as one program, so that it is linked once.

mod calibrate;
mod charon_pair;
mod daemon;
mod diameter_tls;
mod dot1x;
mod eap_again;
mod eap_chains;
mod eap_endings;
mod esp;
mod esp_suites;
mod floods;
mod gate;
mod hwsim;
mod ikev1;
mod ikev2;
mod keytoll_device;
mod keytoll_gateway;
mod libreswan;
mod live_ikev1;
mod load;
mod proxies;
mod ryke;
mod scapy;
mod strongswan_6;
mod tun;
