//! A map with insertion order, for JSON objects in which `ue` comes before `gw`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by name, in insertion order. Names are unique.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Named<T> {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The same, values to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<(String, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// For a reader it is an ordinary object whose values are all of the same kind.
impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

/// More names than any object of ours has: they are searched one by one.
const NAMES_MAX: usize = 1024;

struct InOrder<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
        let mut values = Named::default();
        while let Some((name, value)) = map.next_entry::<String, T>()? {
            if values.get(&name).is_some() {
                return Err(A::Error::custom(format_args!("`{name}` is there twice")));
            }
            if values.0.len() >= NAMES_MAX {
                return Err(A::Error::custom(format_args!("more than {NAMES_MAX} names")));
            }
            values.0.push((name, value));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_more_names_than_any_of_ours_is_refused() {
        let object = |count: usize| {
            let names: Vec<_> = (0..count).map(|name| format!("\"{name}\":0")).collect();
            serde_json::from_str::<Named<u32>>(&format!("{{{}}}", names.join(",")))
        };
        assert_eq!(object(NAMES_MAX).unwrap().names().count(), NAMES_MAX);
        assert!(object(NAMES_MAX + 1).unwrap_err().to_string().contains("more than 1024 names"));
    }

    #[test]
    fn order_survives_json() {
        let text = r#"{"ue":1,"gw":2,"aaa":3}"#;
        let named: Named<u32> = serde_json::from_str(text).unwrap();
        assert_eq!(named.names().collect::<Vec<_>>(), ["ue", "gw", "aaa"]);
        assert_eq!((named.get("gw"), named.get("hss")), (Some(&2), None));
        assert_eq!(serde_json::to_string(&named).unwrap(), text);
    }

    #[test]
    fn a_name_occurs_once() {
        let error = serde_json::from_str::<Named<u32>>(r#"{"ue":1,"ue":2}"#).unwrap_err();
        assert!(error.to_string().starts_with("`ue` is there twice"), "{error}");
    }
}
