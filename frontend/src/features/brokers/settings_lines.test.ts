import { describe, expect, it } from "vitest";
import { commonOf, linesFor, type SettingLine } from "./settings_lines";

function line(key: string, running: (string | null)[], more: Partial<SettingLine> = {}): SettingLine {
  const cells = running.map((value, at) => ({
    broker: `b-${at}`,
    wanted: null,
    running: value,
    is_drifted: false,
  }));
  return { key, cells, is_drifted: false, is_different: false, rule: null, is_live: false, ...more };
}

describe("lines of settings", () => {
  const lines = [
    line("traceOn", ["true"], { is_drifted: true, rule: "true|false" }),
    line("maxMessageSize", ["4194304"], { is_different: true }),
  ];
  it("are chosen by what they are", () => {
    expect(linesFor(lines, "drifted", "").map((one) => one.key)).toEqual(["traceOn"]);
    expect(linesFor(lines, "different", "").map((one) => one.key)).toEqual(["maxMessageSize"]);
    expect(linesFor(lines, "settable", "")).toHaveLength(1);
    expect(linesFor(lines, "all", "")).toHaveLength(2);
  });
  it("are found by key and by value, in any case", () => {
    expect(linesFor(lines, "all", "MESSAGE")).toHaveLength(1);
    expect(linesFor(lines, "all", "4194304")).toHaveLength(1);
  });
  it("have a common value, unless nobody answered", () => {
    expect(commonOf(line("x", ["1", "2", "2", null]))).toBe("2");
    expect(commonOf(line("x", [null]))).toBeNull();
  });
});
