import { describe, expect, it } from "vitest";
import { newer, withLive, type Broker, type LiveBroker } from "./broker_data";
import { groupsOf, masterOf, standingOf, stateOf } from "./broker_state";

const LIVE: LiveBroker = {
  role: "master",
  member: 0,
  version: "V5_3_3",
  epoch: "3",
  ha: {},
  rates: {},
  disk_ratio: null,
  retention: null,
  damage: null,
  certificate: null,
  log: {},
  booted_at: null,
  sampled_at: "2026-01-01T00:00:00Z",
  is_reachable: true,
  error: "",
};

function broker(
  label: string,
  live: Partial<LiveBroker> | null,
  process: Partial<NonNullable<Broker["process"]>> | null = {},
): Broker {
  return {
    label,
    broker_name: label.slice(0, -2),
    address: label,
    is_master: label.endsWith("-0"),
    live: live && { ...LIVE, ...live },
    process: process && ({ desired: "running", observed: "running", ...process } as Broker["process"]),
  };
}

describe("the state of a broker", () => {
  it("is what its agent saw before what it said once", () => {
    expect(stateOf(broker("a-0", {}, { observed: "crashed" }))).toBe("crashed");
    expect(stateOf(broker("a-0", {}, { desired: "stopped", observed: "stopped" }))).toBe("stopped");
  });
  it("is never running because nothing was heard", () => {
    expect(stateOf(broker("a-0", null, null))).toBe("unknown");
    expect(stateOf(broker("a-0", { is_reachable: false, sampled_at: null }))).toBe("unknown");
    expect(stateOf(broker("a-0", { is_reachable: false }))).toBe("down");
  });
  it("is trouble when the group says so", () => {
    expect(stateOf(broker("a-0", { ha: { trouble: "too few members" } }))).toBe("trouble");
    expect(stateOf(broker("a-0", {}))).toBe("running");
  });
});

describe("members of a group", () => {
  const master = broker("a-1", {
    member: 1,
    ha: { memberId: 1, inSync: [1], minInSync: 1, slaves: [{ memberId: 0, address: "x", lagBytes: "4096" }] },
  });
  const slave = broker("a-0", { role: "slave", ha: { memberId: 0 } });
  it("follow whoever says that it is master, not whoever should be", () => {
    expect(masterOf([slave, master])).toBe(master);
  });
  it("are in sync when the master says so, with how far they are behind", () => {
    expect(standingOf(slave, [slave, master])).toEqual({ isMaster: false, isInSync: false, behind: "4096" });
    expect(standingOf(master, [slave, master])).toEqual({ isMaster: true, isInSync: true, behind: null });
  });
  it("are unknown when the master is silent", () => {
    const silent = { ...master, live: { ...LIVE, ...master.live, is_reachable: false } };
    expect(standingOf(slave, [silent, slave]).isInSync).toBeNull();
  });
  it("stand together", () => {
    expect([...groupsOf([master, broker("b-0", {})]).keys()]).toEqual(["a", "b"]);
  });
});

describe("live rows", () => {
  it("are put onto brokers by their address", () => {
    const [merged] = withLive([broker("a-0", {})], { "a-5": { ...LIVE, version: "new", address: "a-0" } });
    expect(merged?.live?.version).toBe("new");
  });
  it("carry the newer of two ages", () => {
    expect(newer(null, "2026-01-01T00:00:00Z")).toBe("2026-01-01T00:00:00Z");
    expect(newer("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")).toBe("2026-01-02T00:00:00Z");
  });
});
