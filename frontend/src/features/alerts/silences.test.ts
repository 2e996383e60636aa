import { expect, it } from "vitest";
import { stateAt } from "./silences";

it("holds from its beginning to its end, and not at its end", () => {
  const silence = { starts_at: "2026-01-01T10:00:00Z", ends_at: "2026-01-01T12:00:00Z" };
  const at = (time: string) => stateAt(silence, Date.parse(`2026-01-01T${time}Z`));
  expect([at("09:59:59"), at("10:00:00"), at("11:59:59"), at("12:00:00")]).toEqual([
    "planned",
    "active",
    "active",
    "over",
  ]);
});
