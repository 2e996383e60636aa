/** Rows of the fleet: sorted and searched here, for they all come at once; live totals put in. Pure. */
import type { Answer } from "@/shared/api/client";
import { compareWhole, sumOf } from "@/shared/format/numbers";
import type { Row } from "@/shared/live/messages";

export type FleetRow = Answer<"/fleet/">["clusters"][number];

/** Worst first. */
const RANK: Record<string, number> = { down: 0, degraded: 1, unknown: 2, ok: 3 };

export function chosenRows(
  rows: FleetRow[],
  search: string,
  health: string | null,
  sort: string,
): FleetRow[] {
  const wanted = search.toLowerCase();
  const found = rows.filter(
    (row) => row.name.toLowerCase().includes(wanted) && (health === null || row.health === health),
  );
  const field = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  return found.sort((a, b) => compare(a, b, field, sign) || a.name.localeCompare(b.name));
}

function compare(a: FleetRow, b: FleetRow, field: string, sign: number): number {
  if (field === "health") return sign * ((RANK[a.health] ?? 2) - (RANK[b.health] ?? 2));
  if (field === "lag") return unknownLast(a.lag, b.lag) ?? sign * compareWhole(a.lag, b.lag);
  if (field === "put_rate" || field === "got_rate" || field === "disk_ratio") {
    const [left, right] = [a[field], b[field]];
    return unknownLast(left, right) ?? sign * (Number(left) - Number(right));
  }
  return sign * a.name.localeCompare(b.name);
}

/** Whichever way it is sorted, what is not known comes last. */
function unknownLast(left: unknown, right: unknown): number | null {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  return null;
}

/** What the channel `cluster/{name}` says of the whole cluster, where the row has it too. */
export function withTotals(row: FleetRow, totals: Row | undefined, sampledAt: string | null): FleetRow {
  if (totals === undefined || row.lag === null) return row;
  const { put_rate, got_rate, lag } = totals as Pick<FleetRow, "put_rate" | "got_rate" | "lag">;
  return {
    ...row,
    put_rate,
    got_rate,
    lag: lag === null ? null : String(lag),
    sampled_at: sampledAt ?? row.sampled_at,
  };
}

export interface Totals {
  healthy: number;
  troubled: number;
  putRate: number | null;
  gotRate: number | null;
  lag: bigint | null;
  disk: number | null;
  firing: number | null;
  sampledAt: string | null;
}

/** Of all clusters; null where one of them is not known. */
export function totalsOf(rows: FleetRow[]): Totals {
  const disks = rows.map((row) => row.disk_ratio).filter((ratio) => ratio !== null);
  return {
    healthy: rows.filter((row) => row.health === "ok").length,
    troubled: rows.filter((row) => row.health !== "ok").length,
    putRate: rateSum(rows.map((row) => row.put_rate)),
    gotRate: rateSum(rows.map((row) => row.got_rate)),
    lag: sumOf(rows.map((row) => row.lag)),
    disk: disks.length > 0 ? Math.max(...disks) : null,
    firing: rateSum(rows.map((row) => row.firing_alerts)),
    sampledAt: rows.map((row) => row.sampled_at).reduce(older, rows[0]?.sampled_at ?? null),
  };
}

function rateSum(values: (number | null)[]): number | null {
  return values.reduce(
    (sum, value) => (sum === null || value === null ? null : sum + value),
    0 as number | null,
  );
}

function older(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return null;
  return Date.parse(left) < Date.parse(right) ? left : right;
}
