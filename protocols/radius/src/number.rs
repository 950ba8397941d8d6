//! Codes and attribute types, IANA registry "RADIUS Types". RFC 2865 §3 and §5, RFC 2866 §3 and §5, RFC 2869 §5,
//! RFC 2548 §2.

use std::fmt;

use crate::names;

/// The kind of packet, RFC 2865 §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub u8);

impl Code {
    /// A client asks for access.
    pub const ACCESS_REQUEST: Self = Self(1);
    /// The server grants access.
    pub const ACCESS_ACCEPT: Self = Self(2);
    /// The server denies access.
    pub const ACCESS_REJECT: Self = Self(3);
    /// A client reports usage.
    pub const ACCOUNTING_REQUEST: Self = Self(4);
    /// The server has recorded the report.
    pub const ACCOUNTING_RESPONSE: Self = Self(5);
    /// The server requires another round.
    pub const ACCESS_CHALLENGE: Self = Self(11);
    /// A client asks whether the server is alive, RFC 5997 §3.
    pub const STATUS_SERVER: Self = Self(12);

    /// The name the standard uses.
    pub const fn name(self) -> &'static str {
        match names::packet(self) {
            Some(name) => name.as_str(),
            None => "code",
        }
    }

    /// Whether it is a response.
    pub const fn is_response(self) -> bool {
        matches!(
            self,
            Self::ACCESS_ACCEPT | Self::ACCESS_REJECT | Self::ACCESS_CHALLENGE | Self::ACCOUNTING_RESPONSE
        )
    }
}

/// The type of an attribute, RFC 2865 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributeType(pub u8);

impl AttributeType {
    /// The user's name, RFC 2865 §5.1.
    pub const USER_NAME: Self = Self(1);
    /// A hidden password, RFC 2865 §5.2.
    pub const USER_PASSWORD: Self = Self(2);
    /// The answer to a challenge of CHAP, RFC 2865 §5.3.
    pub const CHAP_PASSWORD: Self = Self(3);
    /// The client's IPv4 address, RFC 2865 §5.4.
    pub const NAS_IP_ADDRESS: Self = Self(4);
    /// The client's port, RFC 2865 §5.5.
    pub const NAS_PORT: Self = Self(5);
    /// The type of service, RFC 2865 §5.6.
    pub const SERVICE_TYPE: Self = Self(6);
    /// The address assigned to the user, RFC 2865 §5.8.
    pub const FRAMED_IP_ADDRESS: Self = Self(8);
    /// The maximum length of EAP packets, RFC 3579 §2.4.
    pub const FRAMED_MTU: Self = Self(12);
    /// Text for the user, RFC 2865 §5.18.
    pub const REPLY_MESSAGE: Self = Self(18);
    /// The server's handle of the conversation, RFC 2865 §5.24.
    pub const STATE: Self = Self(24);
    /// The server's label for accounting, RFC 2865 §5.25.
    pub const CLASS: Self = Self(25);
    /// A vendor's own attributes, RFC 2865 §5.26.
    pub const VENDOR_SPECIFIC: Self = Self(26);
    /// Seconds of service, RFC 2865 §5.27.
    pub const SESSION_TIMEOUT: Self = Self(27);
    /// The number that the user called, RFC 2865 §5.30.
    pub const CALLED_STATION_ID: Self = Self(30);
    /// The number that the user called from, RFC 2865 §5.31.
    pub const CALLING_STATION_ID: Self = Self(31);
    /// The client's name, RFC 2865 §5.32.
    pub const NAS_IDENTIFIER: Self = Self(32);
    /// A proxy's handle, to be returned untouched, RFC 2865 §5.33.
    pub const PROXY_STATE: Self = Self(33);
    /// Start, stop or interim, RFC 2866 §5.1.
    pub const ACCT_STATUS_TYPE: Self = Self(40);
    /// Octets received from the user, RFC 2866 §5.3.
    pub const ACCT_INPUT_OCTETS: Self = Self(42);
    /// Octets sent to the user, RFC 2866 §5.4.
    pub const ACCT_OUTPUT_OCTETS: Self = Self(43);
    /// The session being accounted, RFC 2866 §5.5.
    pub const ACCT_SESSION_ID: Self = Self(44);
    /// Seconds of service so far, RFC 2866 §5.7.
    pub const ACCT_SESSION_TIME: Self = Self(46);
    /// The challenge of CHAP, RFC 2865 §5.40.
    pub const CHAP_CHALLENGE: Self = Self(60);
    /// The type of the port, RFC 2865 §5.41.
    pub const NAS_PORT_TYPE: Self = Self(61);
    /// A part of an EAP packet, RFC 3579 §3.1.
    pub const EAP_MESSAGE: Self = Self(79);
    /// HMAC-MD5 over the packet, RFC 3579 §3.2.
    pub const MESSAGE_AUTHENTICATOR: Self = Self(80);
    /// Why a request cannot be honoured, RFC 5176 §3.5.
    pub const ERROR_CAUSE: Self = Self(101);

    /// The name the standard uses.
    pub const fn name(self) -> &'static str {
        match names::attribute(self) {
            Some(name) => name.as_str(),
            None => "attribute",
        }
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

/// Microsoft's vendor number, RFC 2548 §2.
pub const MICROSOFT: u32 = 311;

/// Microsoft's attributes that carry the MSK, RFC 2548 §2.4.2.
pub const MS_MPPE_SEND_KEY: AttributeType = AttributeType(16);
/// The other half, RFC 2548 §2.4.3.
pub const MS_MPPE_RECV_KEY: AttributeType = AttributeType(17);

/// What an Accounting-Request reports, RFC 2866 §5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcctStatus {
    /// Service begins.
    Start,
    /// Service ended.
    Stop,
    /// Service goes on, RFC 2869 §2.1.
    InterimUpdate,
    /// The client starts accounting, usually after booting.
    AccountingOn,
    /// The client stops accounting.
    AccountingOff,
}

impl AcctStatus {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Start, Self::Stop, Self::InterimUpdate, Self::AccountingOn, Self::AccountingOff];

    /// The value of Acct-Status-Type.
    pub const fn number(self) -> u32 {
        match self {
            Self::Start => 1,
            Self::Stop => 2,
            Self::InterimUpdate => 3,
            Self::AccountingOn => 7,
            Self::AccountingOff => 8,
        }
    }

    /// The status with this value.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }
}
