/**
 * The state of a screen in its address: which values it may have, and what is meant where there is none.
 *
 *     export const topicsSearch = searchShape({ ...listShape(["name", "-lag"]), kind: oneOf(["normal", "retry"], "normal") });
 *     type TopicsSearch = SearchOf<typeof topicsSearch>;
 *
 * Values outside of it are replaced by what is meant without them, never an error: people edit addresses.
 * What is meant anyway does not stand in the address.
 */
import type { SearchSchemaInput } from "@tanstack/react-router";

export interface Field<T> {
  read: (text: unknown) => T;
  missing: T;
}
export type Shape = Record<string, Field<unknown>>;
type Values<S extends Shape> = { [K in keyof S]: S[K] extends Field<infer T> ? T : never };
/** Undefined where it is what is meant anyway: that is how the router keeps it out of the address. */
export type Search<S extends Shape> = { [K in keyof Values<S>]?: Values<S>[K] };

export interface SearchShape<S extends Shape> {
  (input: Search<S> & SearchSchemaInput): Search<S>;
  shape: S;
  /** With everything that is meant. */
  full: (search: Search<S>) => Values<S>;
}
export type SearchOf<T> = T extends SearchShape<infer S> ? Values<S> : never;

export function searchShape<const S extends Shape>(shape: S): SearchShape<S> {
  function validate(input: Record<string, unknown>): Search<S> {
    const found: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(shape)) {
      const value = input[name] === undefined ? field.missing : field.read(input[name]);
      found[name] = value === field.missing || value === "" ? undefined : value;
    }
    return found as Search<S>;
  }
  const full = (search: Search<S>) =>
    Object.fromEntries(
      Object.entries(shape).map(([name, field]) => [name, search[name] ?? field.missing]),
    ) as Values<S>;
  return Object.assign(validate as unknown as SearchShape<S>, { shape, full });
}

const LONGEST = 512;

export function text(missing = ""): Field<string> {
  return { missing, read: (value) => (typeof value === "string" ? value : String(value)).slice(0, LONGEST) };
}

/** Null where there is none: filters that are off. */
export function optional<const T extends string>(values: readonly T[]): Field<T | null> {
  return { missing: null, read: (value) => values.find((one) => one === value) ?? null };
}

export function oneOf<const T extends string>(values: readonly T[], missing: NoInfer<T>): Field<T> {
  return { missing, read: (value) => values.find((one) => one === value) ?? missing };
}

export function whole(missing: number, least: number, most: number): Field<number> {
  return {
    missing,
    read: (value) => {
      const number = Number(value);
      return Number.isInteger(number) ? Math.min(most, Math.max(least, number)) : missing;
    },
  };
}

export function flag(): Field<boolean> {
  return { missing: false, read: (value) => value === true || value === "true" || value === "1" };
}

export const PAGE_SIZES = [50, 100, 200, 500] as const;

/** What every list has: a search, an order of the server's, a page. */
export function listShape<const T extends string>(orders: readonly T[], order: NoInfer<Reversed<T>>) {
  return {
    search: text(),
    sort: oneOf(withReversed(orders), order),
    page: whole(1, 1, 1_000_000),
    size: {
      ...whole(100, 50, 500),
      read: (value: unknown) => PAGE_SIZES.find((one) => one === Number(value)) ?? 100,
    },
  };
}

type Reversed<T extends string> = T | (T extends `-${string}` ? T : `-${T}`);

function withReversed<T extends string>(orders: readonly T[]): readonly Reversed<T>[] {
  return orders.flatMap((one) => (one.startsWith("-") ? [one] : [one, `-${one}`])) as Reversed<T>[];
}

/** As the API wants it: limit and offset. */
export function pageQuery(search: { page: number; size: number }) {
  return { limit: search.size, offset: (search.page - 1) * search.size };
}

// -- how the router writes and reads addresses: plain texts, no JSON in them --------------------------------

export function parseAddress(address: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(address)) {
    const before = found[name];
    found[name] =
      before === undefined
        ? value
        : Array.isArray(before)
          ? [...(before as string[]), value]
          : [before, value];
  }
  return found;
}

export function writeAddress(search: Record<string, unknown>): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (one !== undefined && one !== null && one !== "") written.append(name, String(one));
    }
  }
  const text = written.toString();
  return text && `?${text}`;
}
