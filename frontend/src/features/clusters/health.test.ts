import { describe, expect, it } from "vitest";
import type { LiveRow } from "./cluster_data";
import { healthOf, speakersOf } from "./health";

const NOW = Date.parse("2026-01-01T00:01:00Z");

function row(name: string, member: number, more: Partial<LiveRow> = {}): LiveRow {
  return {
    broker_name: name,
    member,
    address: `${name}:${member}`,
    role: member === 0 ? "master" : "slave",
    version: "",
    epoch: "1",
    ha: {},
    rates: {},
    disk_ratio: null,
    sampled_at: "2026-01-01T00:00:55Z",
    is_reachable: true,
    error: "",
    ...more,
  };
}

describe("the health of a cluster", () => {
  it("is ok when all answer and have their copies", () => {
    expect(healthOf([row("a", 0, { ha: { inSync: [0, 1], minInSync: 2 } }), row("a", 1)], NOW).health).toBe(
      "ok",
    );
  });
  it("is unknown when nobody answered, or when figures are old", () => {
    expect(healthOf([], NOW).health).toBe("unknown");
    expect(healthOf([row("a", 0, { sampled_at: null, is_reachable: false })], NOW).health).toBe("unknown");
    expect(healthOf([row("a", 0, { sampled_at: "2026-01-01T00:00:00Z" })], NOW).health).toBe("unknown");
  });
  it("is down when no master answers, degraded when one of several does not", () => {
    const dead = row("a", 0, { is_reachable: false });
    expect(healthOf([dead], NOW)).toMatchObject({ health: "down", why: "noMaster" });
    expect(healthOf([dead, row("b", 0)], NOW)).toMatchObject({ health: "degraded", words: { names: "a" } });
  });
  it("is degraded when a slave is silent, copies are missing or a member is in trouble", () => {
    expect(healthOf([row("a", 0), row("a", 1, { is_reachable: false })], NOW).why).toBe("silent");
    expect(healthOf([row("a", 0, { ha: { inSync: [0], minInSync: 2 } })], NOW).why).toBe("copies");
    expect(healthOf([row("a", 0, { ha: { trouble: "cut off" } })], NOW).why).toBe("trouble");
  });
  it("asks the master of the highest epoch", () => {
    const old = row("a", 0, { epoch: "1" });
    const fresh = row("a", 1, { role: "master", epoch: "2" });
    expect(speakersOf([old, fresh]).get("a")).toBe(fresh);
  });
});
