/** What somebody typed for a report's options, as the API wants it. Pure. */
import type { Answer } from "@/shared/api/client";

export type Report = Answer<"/reports/">["reports"][number];
export type Option = Report["options"][number];
export type Typed = Record<string, string | boolean>;

/** Without those that nobody touched: the report decides them. */
export function optionsFrom(options: readonly Option[], typed: Typed): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const option of options) {
    const value = typed[option.name];
    if (value === undefined || value === "") continue;
    found[option.name] = option.is_list ? linesOf(option, String(value)) : oneOf(option, value);
  }
  return found;
}

function linesOf(option: Option, text: string): unknown[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").map((line) => oneOf(option, line));
}

/** What is no number stays as it was typed: the API says what is wrong with it. */
function oneOf(option: Option, value: string | boolean): unknown {
  if (option.kind === "boolean" || typeof value === "boolean") return value === true || value === "true";
  if (option.kind !== "integer" && option.kind !== "number") return value;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}
