import { expect, it } from "vitest";
import { numberFormat, timeFormat } from "./formatters";

it("keeps a formatter for each locale and options", () => {
  const german = numberFormat("de", { maximumFractionDigits: 1 });
  expect(numberFormat("de", { maximumFractionDigits: 1 })).toBe(german);
  expect(german.format(1234.56)).toBe("1.234,6");
  expect(numberFormat("en", { maximumFractionDigits: 1 }).format(1234.56)).toBe("1,234.6");
  expect(numberFormat("de").format(1234.56)).toBe("1.234,56");
});

it("keeps those of times apart by zone", () => {
  const at = Date.UTC(2026, 0, 1, 23);
  const hour = (timeZone: string) =>
    timeFormat("en", { hour: "2-digit", hourCycle: "h23", timeZone }).format(at);
  expect([hour("UTC"), hour("Asia/Shanghai")]).toEqual(["23", "07"]);
});
