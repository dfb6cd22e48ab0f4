//! The ray.io/v1 types and the pure reconcilers.
