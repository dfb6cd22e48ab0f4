//! Build script: a release embeds web/dist, so it is built anew when the console was. Other profiles read the files
//! from disk while they run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rerun-if-changed=../web/dist");
    }
}
