import { expect, test } from "vitest";
import { chosenRows, type FleetRow, totalsOf, withTotals } from "./fleet_rows";

function row(name: string, values: Partial<FleetRow> = {}): FleetRow {
  return {
    name,
    kind: "managed",
    flavour: "signalbox",
    labels: {},
    health: "ok",
    health_reason: "",
    error: "",
    versions: [],
    broker_count: 2,
    topic_count: 1,
    group_count: 1,
    put_rate: 1,
    got_rate: 1,
    lag: "0",
    top_lag: [],
    disk_ratio: 0.5,
    firing_alerts: 0,
    sampled_at: "2026-01-01T00:00:00Z",
    age_s: 1,
    ...values,
  } as FleetRow;
}

const names = (rows: FleetRow[]) => rows.map((each) => each.name);

test("unknown figures come last whichever way it is sorted", () => {
  const rows = [
    row("a", { lag: null }),
    row("b", { lag: "9007199254740993" }),
    row("c", { lag: "9007199254740992" }),
  ];
  expect(names(chosenRows(rows, "", null, "lag"))).toEqual(["c", "b", "a"]);
  expect(names(chosenRows(rows, "", null, "-lag"))).toEqual(["b", "c", "a"]);
});

test("the worst health comes first", () => {
  const rows = [row("a"), row("b", { health: "unknown" }), row("c", { health: "down" })];
  expect(names(chosenRows(rows, "", null, "health"))).toEqual(["c", "b", "a"]);
  expect(names(chosenRows(rows, "", "ok", "name"))).toEqual(["a"]);
});

test("a sum is unknown when one of its parts is", () => {
  const totals = totalsOf([row("a", { lag: "9223372036854775807" }), row("b", { lag: "1", put_rate: null })]);
  expect(totals.lag).toBe(9223372036854775808n);
  expect(totals.putRate).toBeNull();
  expect(totalsOf([row("a", { sampled_at: null }), row("b")]).sampledAt).toBeNull();
});

test("live totals do not show what was hidden", () => {
  const hidden = row("a", { lag: null });
  expect(withTotals(hidden, { put_rate: 5, got_rate: 5, lag: "7" }, null)).toBe(hidden);
  expect(withTotals(row("b"), { put_rate: 5, got_rate: 6, lag: "7" }, null)).toMatchObject({
    put_rate: 5,
    lag: "7",
  });
});
