const std = @import("std");

/// Sends so many requests a second at the shop and prints the slowest.
pub fn main() !void {
    var slowest: u64 = 0;
    var sent: usize = 0;
    while (sent < 1000) : (sent += 1) {
        const took = try timeRequest("/search?q=tea");
        if (took > slowest) slowest = took;
    }
    std.debug.print("slowest {d} ms\n", .{slowest});
}

fn timeRequest(path: []const u8) !u64 {
    return http.get(path).elapsedMilliseconds();
}
