//! The interpreter: the front end's corpus against plain functions, faults with their places, rules of names and masks.

mod corpus;
mod faults;
mod library;
mod rules;
mod support;
