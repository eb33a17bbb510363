//! What programs cost: a naive model that ticks every cycle, random straight-line programs on it, and each rule by hand.

mod random;
mod rules;
mod script;
mod ticks;
