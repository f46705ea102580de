#![doc = include_str!("../README.md")]

mod gauge;
mod local;
mod pace;
mod picture;
mod s3;
mod thumbnails;

pub use local::LocalFiles;
pub use picture::{CHILD_COMMAND, confine, run_child, shrink};
pub use s3::{S3Files, S3Settings};
pub use thumbnails::ChildThumbnails;
