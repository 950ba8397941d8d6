//! X.500 names as text, so that different names have different texts. Read RFC 4514 §2 first.
//!
//! The attributes are in the order of the certificate, separated by `, `, as OpenSSL shows them; RFC 4514 reverses the order.
//! Types without a short name are shown as object identifiers.

use x509_parser::asn1_rs::Oid;
use x509_parser::oid_registry as oid;
use x509_parser::x509::{AttributeTypeAndValue, RelativeDistinguishedName, X509Name};

/// The text of a name; `None` if an attribute is not text.
pub(crate) fn text(name: &X509Name<'_>) -> Option<String> {
    let parts = name.iter_rdn().map(part).collect::<Option<Vec<String>>>()?;
    Some(parts.join(", "))
}

fn part(part: &RelativeDistinguishedName<'_>) -> Option<String> {
    let attributes = part.iter().map(attribute).collect::<Option<Vec<String>>>()?;
    Some(attributes.join(" + "))
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let (kind, value) = (attribute.attr_type(), escaped(attribute.as_str().ok()?));
    let short = SHORT_NAMES.iter().find(|(oid, _)| oid == kind);
    Some(match short {
        Some((_, name)) => format!("{name}={value}"),
        None => format!("{}={value}", kind.to_id_string()),
    })
}

/// What the types that are usual in names are called. x509-parser knows the same, but makes a table of 26 kB of every object
/// identifier that it knows, for the first question.
static SHORT_NAMES: [(Oid<'static>, &str); 27] = [
    (oid::OID_X509_COMMON_NAME, "CN"),
    (oid::OID_X509_SURNAME, "surname"),
    (oid::OID_X509_SERIALNUMBER, "serialNumber"),
    (oid::OID_X509_COUNTRY_NAME, "C"),
    (oid::OID_X509_LOCALITY_NAME, "L"),
    (oid::OID_X509_STATE_OR_PROVINCE_NAME, "ST"),
    (oid::OID_X509_STREET_ADDRESS, "streetAddress"),
    (oid::OID_X509_ORGANIZATION_NAME, "O"),
    (oid::OID_X509_ORGANIZATIONAL_UNIT, "OU"),
    (oid::OID_X509_TITLE, "title"),
    (oid::OID_X509_DESCRIPTION, "description"),
    (oid::OID_X509_BUSINESS_CATEGORY, "businessCategory"),
    (oid::OID_X509_POSTAL_ADDRESS, "postalAddress"),
    (oid::OID_X509_POSTAL_CODE, "postalCode"),
    (oid::OID_X509_NAME, "name"),
    (oid::OID_X509_GIVEN_NAME, "givenName"),
    (oid::OID_X509_INITIALS, "initials"),
    (oid::OID_X509_GENERATION_QUALIFIER, "generationQualifier"),
    (oid::OID_X509_UNIQUE_IDENTIFIER, "uniqueIdentifier"),
    (oid::OID_X509_DN_QUALIFIER, "dnQualifier"),
    (oid::OID_USERID, "uid"),
    (oid::OID_DOMAIN_COMPONENT, "DC"),
    (oid::OID_PKCS9_EMAIL_ADDRESS, "Email"),
    (oid::OID_PKCS9_UNSTRUCTURED_NAME, "unstructuredName"),
    (oid::MS_JURISDICTION_LOCALITY, "msJurisdictionLocality"),
    (oid::MS_JURISDICTION_STATE_OR_PROVINCE, "msJurisdictionStateOrProvince"),
    (oid::MS_JURISDICTION_COUNTRY, "msJurisdictionCountry"),
];

// RFC 4514 §2.4: separators of attributes and values, a leading number sign and blanks at either end are escaped.
fn escaped(value: &str) -> String {
    let last = value.len().saturating_sub(1);
    let mut text = String::with_capacity(value.len());
    for (at, char) in value.char_indices() {
        match char {
            '"' | '+' | ',' | ';' | '<' | '=' | '>' | '\\' => text.extend(['\\', char]),
            '#' if at == 0 => text.push_str("\\#"),
            ' ' if at == 0 || at == last => text.push_str("\\ "),
            '\0' => text.push_str("\\00"),
            char => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use x509_parser::objects::{oid_registry, oid2abbrev};

    use super::*;

    #[test]
    fn types_have_the_names_that_x509_parser_gives_them() {
        for (kind, name) in &SHORT_NAMES {
            assert_eq!(oid2abbrev(kind, oid_registry()), Ok(*name));
        }
    }

    #[test]
    fn values_cannot_be_taken_for_attributes() {
        for (value, expected) in [
            ("a, CN=boss", r"a\, CN\=boss"),
            ("a + CN=boss", r"a \+ CN\=boss"),
            (" #a# ", r"\ #a#\ "),
            ("#a", r"\#a"),
            (r#""<>;\"#, r#"\"\<\>\;\\"#),
            ("a\0b", r"a\00b"),
            ("Müller & Söhne ", "Müller & Söhne\\ "),
            (" ", r"\ "),
            ("", ""),
        ] {
            assert_eq!(escaped(value), expected, "{value:?}");
        }
    }
}
