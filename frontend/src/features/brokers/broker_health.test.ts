import { describe, expect, it } from "vitest";
import type { LiveBroker } from "./broker_data";
import { breaksPromise, certificateEnd, certificateTone, damageOf, retentionOf } from "./broker_health";

const RETENTION = {
  mayDeleteUnexpired: true,
  reservedHours: 72,
  cleanRatio: 0.75,
  forceRatio: 0.85,
  refuseRatio: 0.9,
};

function live(said: Partial<LiveBroker>): LiveBroker {
  return { retention: null, damage: null, certificate: null, ha: {}, ...said } as LiveBroker;
}

describe("what a broker does not report", () => {
  it("is unknown, not none", () => {
    expect(retentionOf(live({}))).toBeNull();
    expect(damageOf(live({}))).toBeNull();
    expect(certificateEnd(live({}))).toBeNull();
    expect(damageOf(null)).toBeNull();
  });
  it("is none where the broker reports such things", () => {
    const reporting = live({ retention: RETENTION });
    expect(damageOf(reporting)).toBe("none");
    expect(certificateEnd(reporting)).toBe("none");
    expect(damageOf(live({ retention: RETENTION, damage: { skipped: 1, repaired: 0 } }))).toMatchObject({
      skipped: 1,
    });
  });
});

it("a certificate is told of 30, 7 and 1 days ahead", () => {
  const day = 86_400_000;
  expect([40, 30, 8, 7, 2, 1, -1].map((days) => certificateTone(days * day, 0))).toEqual([
    "ok",
    "info",
    "info",
    "warn",
    "warn",
    "bad",
    "bad",
  ]);
});

it("deleting unexpired messages breaks a promise only where several members must have them", () => {
  expect(breaksPromise(live({ retention: RETENTION }))).toBe(false);
  expect(breaksPromise(live({ retention: RETENTION, ha: { minInSync: 2 } }))).toBe(true);
  expect(
    breaksPromise(live({ retention: { ...RETENTION, mayDeleteUnexpired: false }, ha: { minInSync: 2 } })),
  ).toBe(false);
});
