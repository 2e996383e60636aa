/**
 * The one way to the API: typed by the schema (types/api.gen.ts), with the CSRF header, a deadline and an abort.
 *
 *     const page = await get("/clusters/{cluster}/topics/", { params: { cluster }, query: { search } });
 *     await post("/clusters/{cluster}/topics/", { params: { cluster }, body, query: { dry_run: true } });
 *
 * Every failure is a ProblemError. Whoever is signed out is told to listeners once per answer; the page stays.
 * 64-bit numbers come as strings and stay strings.
 */
import { noteServerTime } from "@/shared/format/clock";
import type { paths } from "@/types/api.gen";
import { OFFLINE, ProblemError, problemOf, TIMEOUT } from "./problem";

export type Method = "get" | "post" | "put" | "patch" | "delete";
const ROOT = "/api/v1";
const READ_MS = 20_000;
/** Longer than the console waits for brokers: its answer says more than ours would. */
const WRITE_MS = 90_000;

type Operation<P extends string, M extends Method> = `/api/v1${P}` extends keyof paths
  ? paths[`/api/v1${P}`] extends Record<M, infer O>
    ? O
    : never
  : never;

/** Paths that have that method, without the prefix. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }>
    ? P extends `/api/v1${infer Short}`
      ? Short
      : never
    : never;
}[keyof paths];

type Part<O, Name extends "path" | "query"> = O extends { parameters: infer P }
  ? Name extends keyof P
    ? P[Name]
    : never
  : never;
/** Ids are 64 bits wide, so texts: also where the schema calls the place in the address a number. */
type Ids<T> = { [K in keyof T]: T[K] extends number ? number | string : T[K] };
type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
type Json<R> = R extends { content: { "application/json": infer J } } ? J : undefined;

/** Everything that the operation answers when it is fine: 200, 201, 202 and 207 together. */
export type Answer<P extends string, M extends Method = "get"> =
  Operation<P, M> extends { responses: infer R }
    ? { [S in keyof R]: S extends 200 | 201 | 202 | 204 | 207 ? Json<R[S]> : never }[keyof R]
    : never;

type Given<Name extends string, Value> = [Value] extends [never]
  ? { [K in Name]?: undefined }
  : undefined extends Value
    ? { [K in Name]?: Value }
    : { [K in Name]: Value };

interface Always {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Instead of a body: a text of YAML as it was written. */
  yaml?: string;
  /** Sent again with the same key, a POST is answered again, not done again. */
  idempotencyKey?: string;
}

export type Request<P extends string, M extends Method> = Given<
  "params",
  Ids<Part<Operation<P, M>, "path">>
> & {
  query?: NonNullable<Part<Operation<P, M>, "query">>;
  body?: Body<Operation<P, M>>;
} & Always;

export type Arguments<P extends string, M extends Method> =
  Partial<Request<P, M>> extends Request<P, M> ? [request?: Request<P, M>] : [request: Request<P, M>];

export interface Answered<T> {
  status: number;
  data: T;
}

const signedOut = new Set<() => void>();

export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export function tellSignedOut() {
  for (const listener of signedOut) listener();
}

/** With the status, for whoever must tell 201 from 207. */
export async function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  ...[request]: Arguments<P, M>
): Promise<Answered<Answer<P, M>>> {
  const asked = (request ?? {}) as LooseRequest;
  const response = await send(method, addressOf(path, asked.params, asked.query), asked);
  if (!response.ok) {
    if (response.status === 401) tellSignedOut();
    throw await problemOf(response);
  }
  const data = response.status === 204 ? undefined : await response.json();
  return { status: response.status, data: data as Answer<P, M> };
}

interface LooseRequest extends Always {
  params?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

function only<M extends Method>(method: M) {
  return async <P extends PathOf<M>>(path: P, ...request: Arguments<P, M>): Promise<Answer<P, M>> =>
    (await call(method, path, ...request)).data;
}

export const get = only("get");
export const post = only("post");
export const put = only("put");
export const patch = only("patch");
export const del = only("delete");

/** The address of a path: for downloads too. Empty filters are left out. */
export function addressOf(
  path: string,
  params: Record<string, string | number> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") asked.append(name, String(one));
    }
  }
  const text = asked.toString();
  return ROOT + filled + (text && `?${text}`);
}

async function send(method: Method, address: string, asked: LooseRequest): Promise<Response> {
  const isWrite = method !== "get";
  const headers: Record<string, string> = { Accept: "application/json" };
  if (asked.body !== undefined) headers["Content-Type"] = "application/json";
  if (asked.yaml !== undefined) headers["Content-Type"] = "application/yaml";
  if (isWrite) headers["X-CSRFToken"] = csrfToken();
  if (asked.idempotencyKey) headers["Idempotency-Key"] = asked.idempotencyKey;
  const deadline = AbortSignal.timeout(asked.timeoutMs ?? (isWrite ? WRITE_MS : READ_MS));
  try {
    const response = await fetch(address, {
      method: method.toUpperCase(),
      headers,
      body: asked.yaml ?? (asked.body === undefined ? null : JSON.stringify(asked.body)),
      signal: asked.signal ? AbortSignal.any([asked.signal, deadline]) : deadline,
      credentials: "same-origin",
    });
    noteServerTime(response.headers.get("Date"));
    return response;
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw notAnswered(deadline.aborted);
  }
}

function notAnswered(isLate: boolean): ProblemError {
  const code = isLate ? TIMEOUT : OFFLINE;
  return new ProblemError({ status: 0, code, detail: isLate ? "no answer in time" : "no connection" });
}

/** Read anew each time: signing in, in this tab or another one, changes it. */
export function csrfToken(): string {
  return /(?:^|;\s*)csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
}
