#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| headstart_tool_gate::fuzzing::parse(text));
