//! Order, quota, reservation; properties over random fleets.
