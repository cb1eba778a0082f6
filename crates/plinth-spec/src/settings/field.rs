//! The description of a setting, or of a member of an object in a setting.

use std::fmt;

use serde_json::Value;

use super::shape::Shape;
use crate::named::{Named, NamedDefault};

/// Describes a setting, or a member of an object in a setting.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in the API.
    pub key: &'static str,
    /// Accepted values.
    pub shape: Shape,
    /// Value that applies if the request does not contain the setting. `None` means that the setting is then unset.
    pub default: Option<Literal>,
    /// Unit of a number. Empty for a number without a unit.
    pub unit: &'static str,
    /// One sentence for the documentation. Empty for the members of objects.
    pub description: &'static str,
    /// Whether an object without this member is rejected. Settings are never required.
    pub is_required: bool,
}

/// Default value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// A string.
    Text(&'static str),
}

impl Literal {
    /// Returns the value as JSON. Whole numbers become JSON integers.
    pub fn json(self) -> Value {
        match self {
            Self::Number(number) => {
                #[expect(clippy::cast_possible_truncation, reason = "only used if nothing was lost")]
                let whole = number as i64;
                #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "the comparison must be exact")]
                let is_whole = whole as f64 == number;
                if is_whole { Value::from(whole) } else { Value::from(number) }
            }
            Self::Flag(flag) => Value::from(flag),
            Self::Text(text) => Value::from(text),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Field {
    /// Creates a field with this shape. The declaration of the setting adds the key and the description.
    pub(super) const fn of(shape: Shape) -> Self {
        Self { key: "", shape, default: None, unit: "", description: "", is_required: false }
    }

    pub(super) const fn key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    pub(super) const fn description(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Sets a number as the default.
    pub(super) const fn or(self, number: f64) -> Self {
        self.or_literal(Literal::Number(number))
    }

    pub(super) const fn or_literal(self, default: Literal) -> Self {
        Self { default: Some(default), ..self }
    }
}

/// A number within a closed range.
pub(super) const fn number(min: f64, max: f64) -> Field {
    Field::of(Shape::Number { min, max })
}

/// A scale factor whose absolute value is within a closed range. A negative factor mirrors.
pub(super) const fn scale(min: f64, max: f64) -> Field {
    Field::of(Shape::Scale { min, max })
}

/// A fraction from 0 to 1.
pub(super) const fn share() -> Field {
    number(0.0, 1.0)
}

/// A boolean with a default.
pub(super) const fn flag(default: bool) -> Field {
    Field::of(Shape::Flag).or_literal(Literal::Flag(default))
}

/// A colour `#rrggbb`.
pub(super) const fn color() -> Field {
    Field::of(Shape::Color)
}

/// A non-empty string.
pub(super) const fn text() -> Field {
    Field::of(Shape::Text { is_empty_allowed: false })
}

/// The name of a variant of `T`.
pub(super) const fn choice<T: Named>() -> Field {
    Field::of(Shape::Choice { names: T::NAMES, legacy: &[] })
}

/// The name of a variant of `T`. If the request does not contain the setting, `T::DEFAULT_NAME` applies.
pub(super) const fn choice_or_default<T: NamedDefault>() -> Field {
    choice::<T>().or_literal(Literal::Text(T::DEFAULT_NAME))
}
