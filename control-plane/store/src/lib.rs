//! Every SQL statement of Squadron, one file per noun.
