//! Each rule of cost with numbers worked out by hand.
