import { expect, test } from "vitest";
import { formatBytes } from "./bytes";
import { noteServerTime, serverNow } from "./clock";
import { formatDuration, formatMilliseconds } from "./durations";
import {
  compareWhole,
  difference,
  formatCount,
  formatRate,
  formatRatio,
  formatShort,
  sumOf,
} from "./numbers";
import { ageOf, formatExactTime, formatTime } from "./times";

test("64-bit numbers keep every digit", () => {
  expect(formatCount("9223372036854775807", "en-GB")).toBe("9,223,372,036,854,775,807");
  expect(sumOf(["9223372036854775807", "1"])).toBe(9223372036854775808n);
  expect(difference("9223372036854775807", "9223372036854775806")).toBe(1n);
  expect(compareWhole("9007199254740993", "9007199254740992")).toBe(1);
});

test("unknown is not zero", () => {
  expect(sumOf(["1", null])).toBeNull();
  expect(difference(null, "1")).toBeNull();
  expect(compareWhole(null, "0")).toBe(1);
  expect(ageOf(null, 0)).toBeNull();
});

test("short forms and rates", () => {
  expect(formatShort("1234567890", "en-GB")).toBe("1.2bn");
  expect(formatShort("1234567890", "zh-CN")).toBe("12.3亿");
  expect([0, 0.126, 12.34, 1234.5].map((rate) => formatRate(rate, "en-GB"))).toEqual([
    "0/s",
    "0.13/s",
    "12.3/s",
    "1,235/s",
  ]);
  expect([0.4321, 0.051].map((ratio) => formatRatio(ratio, "en-GB"))).toEqual(["43%", "5.1%"]);
});

test("bytes by 1,024", () => {
  expect(
    ["0", "1023", "1024", "1536", "1048576", "9223372036854775807", "-1536"].map((size) =>
      formatBytes(size, "en-GB"),
    ),
  ).toEqual(["0 B", "1,023 B", "1 KB", "1.5 KB", "1 MB", "8 EB", "-1.5 KB"]);
});

test("durations in their two largest units", () => {
  expect([0, 0.25, 40, 200, 3600, 7500, 90061].map((seconds) => formatDuration(seconds, "en-GB"))).toEqual([
    "0s",
    "250ms",
    "40s",
    "3m 20s",
    "1h",
    "2h 5m",
    "1d 1h",
  ]);
  expect(formatDuration(200, "zh-CN")).toBe("3分钟 20秒");
  expect(formatMilliseconds(12, "en-GB")).toBe("12ms");
});

test("times of whoever looks, to the millisecond where it matters", () => {
  expect(formatTime("2026-02-03T04:05:06.789Z", "en-GB", "UTC")).toBe("03/02/2026, 04:05:06");
  expect(formatExactTime("2026-02-03T04:05:06.789Z", "en-GB", "UTC")).toBe("03/02/2026, 04:05:06.789");
});

test("ages follow the console's clock, not this machine's", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  noteServerTime("Thu, 01 Jan 2026 00:01:00 GMT", now);
  expect(serverNow(now) - now).toBe(60_000);
  noteServerTime("Thu, 01 Jan 2026 00:00:01 GMT", now);
  expect(serverNow(now)).toBe(now);
  noteServerTime(null, now);
  expect(serverNow(now)).toBe(now);
});
