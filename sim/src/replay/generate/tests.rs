//! Traces have the shape that was asked for.
