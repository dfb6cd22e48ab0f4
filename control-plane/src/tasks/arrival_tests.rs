//! Arrivals driven through the tasks on a real database.
