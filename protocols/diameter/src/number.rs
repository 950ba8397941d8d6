//! Codes: RFC 6733 §3.1, §4.5, §7.1; TS 29.272 §7; TS 29.273 §8; TS 29.229 §6.

/// 3GPP as a vendor.
pub const VENDOR_3GPP: u32 = 10_415;

/// Commands.
pub mod command {
    /// Capabilities-Exchange (CER, CEA).
    pub const CAPABILITIES_EXCHANGE: u32 = 257;
    /// Device-Watchdog (DWR, DWA).
    pub const DEVICE_WATCHDOG: u32 = 280;
    /// Disconnect-Peer (DPR, DPA).
    pub const DISCONNECT_PEER: u32 = 282;
    /// Multimedia-Auth of SWx (MAR, MAA).
    pub const MULTIMEDIA_AUTH: u32 = 303;
    /// Authentication-Information of S6a (AIR, AIA).
    pub const AUTHENTICATION_INFORMATION: u32 = 318;
}

/// Applications.
pub mod application {
    /// The base protocol.
    pub const BASE: u32 = 0;
    /// SWx, between AAA server and HSS.
    pub const SWX: u32 = 16_777_265;
    /// S6a, between MME (here: gateway) and HSS.
    pub const S6A: u32 = 16_777_251;
}

/// Result-Code and Experimental-Result-Code.
pub mod result {
    /// DIAMETER_SUCCESS.
    pub const SUCCESS: u32 = 2001;
    /// DIAMETER_COMMAND_UNSUPPORTED.
    pub const COMMAND_UNSUPPORTED: u32 = 3001;
    /// DIAMETER_APPLICATION_UNSUPPORTED.
    pub const APPLICATION_UNSUPPORTED: u32 = 3007;
    /// DIAMETER_AUTHENTICATION_DATA_UNAVAILABLE (3GPP).
    pub const AUTHENTICATION_DATA_UNAVAILABLE: u32 = 4181;
    /// DIAMETER_ERROR_USER_UNKNOWN (3GPP).
    pub const USER_UNKNOWN: u32 = 5001;
    /// DIAMETER_UNKNOWN_PEER.
    pub const UNKNOWN_PEER: u32 = 3010;
    /// DIAMETER_INVALID_AVP_VALUE.
    pub const INVALID_AVP_VALUE: u32 = 5004;
    /// DIAMETER_UNABLE_TO_COMPLY.
    pub const UNABLE_TO_COMPLY: u32 = 5012;
}

/// An AVP's code with its vendor; all of them are mandatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AvpCode {
    /// The vendor that defines it; `None` for the IETF.
    pub vendor: Option<u32>,
    /// The number.
    pub code: u32,
    /// Its name in the standard.
    pub name: &'static str,
}

macro_rules! avps {
    ($($vendor:ident $name:ident = $code:literal, $text:literal;)+) => {
        impl AvpCode {
            $(
                #[doc = $text]
                pub const $name: Self = Self { vendor: vendor::$vendor, code: $code, name: $text };
            )+
        }
    };
}

mod vendor {
    pub(super) const IETF: Option<u32> = None;
    pub(super) const TGPP: Option<u32> = Some(super::VENDOR_3GPP);
}

avps! {
    IETF USER_NAME = 1, "User-Name";
    IETF HOST_IP_ADDRESS = 257, "Host-IP-Address";
    IETF AUTH_APPLICATION_ID = 258, "Auth-Application-Id";
    IETF VENDOR_SPECIFIC_APPLICATION_ID = 260, "Vendor-Specific-Application-Id";
    IETF SESSION_ID = 263, "Session-Id";
    IETF ORIGIN_HOST = 264, "Origin-Host";
    IETF VENDOR_ID = 266, "Vendor-Id";
    IETF RESULT_CODE = 268, "Result-Code";
    IETF PRODUCT_NAME = 269, "Product-Name";
    IETF DISCONNECT_CAUSE = 273, "Disconnect-Cause";
    IETF AUTH_SESSION_STATE = 277, "Auth-Session-State";
    IETF DESTINATION_REALM = 283, "Destination-Realm";
    IETF ORIGIN_REALM = 296, "Origin-Realm";
    IETF EXPERIMENTAL_RESULT = 297, "Experimental-Result";
    IETF EXPERIMENTAL_RESULT_CODE = 298, "Experimental-Result-Code";
    TGPP SIP_NUMBER_AUTH_ITEMS = 607, "SIP-Number-Auth-Items";
    TGPP SIP_AUTHENTICATION_SCHEME = 608, "SIP-Authentication-Scheme";
    TGPP SIP_AUTHENTICATE = 609, "SIP-Authenticate";
    TGPP SIP_AUTHORIZATION = 610, "SIP-Authorization";
    TGPP SIP_AUTH_DATA_ITEM = 612, "SIP-Auth-Data-Item";
    TGPP SIP_ITEM_NUMBER = 613, "SIP-Item-Number";
    TGPP CONFIDENTIALITY_KEY = 625, "Confidentiality-Key";
    TGPP INTEGRITY_KEY = 626, "Integrity-Key";
    TGPP VISITED_PLMN_ID = 1407, "Visited-PLMN-Id";
    TGPP REQUESTED_EUTRAN_AUTHENTICATION_INFO = 1408, "Requested-EUTRAN-Authentication-Info";
    TGPP NUMBER_OF_REQUESTED_VECTORS = 1410, "Number-Of-Requested-Vectors";
    TGPP RE_SYNCHRONIZATION_INFO = 1411, "Re-Synchronization-Info";
    TGPP AUTHENTICATION_INFO = 1413, "Authentication-Info";
    TGPP E_UTRAN_VECTOR = 1414, "E-UTRAN-Vector";
    TGPP ITEM_NUMBER = 1419, "Item-Number";
    TGPP RAND = 1447, "RAND";
    TGPP XRES = 1448, "XRES";
    TGPP AUTN = 1449, "AUTN";
    TGPP KASME = 1450, "KASME";
    TGPP ANID = 1504, "ANID";
}
