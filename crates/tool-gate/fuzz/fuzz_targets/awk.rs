#![no_main]

libfuzzer_sys::fuzz_target!(|program: &[u8]| headstart_tool_gate::fuzzing::awk(program));
