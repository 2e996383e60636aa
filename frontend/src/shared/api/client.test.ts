import { afterEach, expect, test, vi } from "vitest";
import { addressOf, call, csrfToken, del, get, onSignedOut, post } from "./client";
import { ProblemError } from "./problem";
import { shouldRetry } from "./queries";

afterEach(() => vi.unstubAllGlobals());

function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  const fetched = vi.fn<typeof fetch>(() =>
    Promise.resolve(new Response(status === 204 ? null : JSON.stringify(body), { status, headers })),
  );
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

test("names are escaped, empty filters left out, lists repeated", () => {
  expect(addressOf("/clusters/{cluster}/topics/{topic}/", { cluster: "a/b", topic: "%RETRY%x" })).toBe(
    "/api/v1/clusters/a%2Fb/topics/%25RETRY%25x/",
  );
  expect(addressOf("/search/", {}, { q: "a b", kind: ["topic", "group"], limit: undefined, x: "" })).toBe(
    "/api/v1/search/?q=a+b&kind=topic&kind=group",
  );
});

test("writes carry the CSRF token of this very moment", async () => {
  document.cookie = "csrftoken=abc123";
  expect(csrfToken()).toBe("abc123");
  const fetched = answering(200, { is_signed_in: true });
  await post("/session/", { body: { username: "ann", password: "x" } });
  const [address, options] = fetched.mock.calls[0] ?? [];
  expect(address).toBe("/api/v1/session/");
  expect(options).toMatchObject({
    method: "POST",
    headers: { "X-CSRFToken": "abc123", "Content-Type": "application/json" },
  });
});

test("a problem keeps its code, fields and what else it says", async () => {
  const body = {
    status: 409,
    code: "busy",
    detail: "grow is under way",
    operation: "u",
    errors: [{ field: "name", code: "x", detail: "taken" }],
  };
  answering(409, body, { "Retry-After": "7" });
  const problem = await get("/fleet/").catch((error: unknown) => error as ProblemError);
  expect(problem).toBeInstanceOf(ProblemError);
  expect(problem).toMatchObject({ status: 409, code: "busy", extra: { operation: "u" }, retryAfterS: 7 });
  expect((problem as ProblemError).of("name")).toBe("taken");
});

test("HTML of a proxy is not shown to anybody", async () => {
  vi.stubGlobal("fetch", () =>
    Promise.resolve(new Response("<html>", { status: 502, statusText: "Bad Gateway" })),
  );
  await expect(get("/fleet/")).rejects.toMatchObject({ status: 502, code: "http", detail: "Bad Gateway" });
});

test("no answer is offline, a late one a timeout, an abort is an abort", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
  await expect(get("/fleet/")).rejects.toMatchObject({ status: 0, code: "offline" });
  vi.stubGlobal(
    "fetch",
    (_: string, options: RequestInit) =>
      new Promise((_resolve, reject) => {
        const abort = () => reject(new DOMException("aborted", "AbortError"));
        if (options.signal?.aborted) abort();
        options.signal?.addEventListener("abort", abort);
      }),
  );
  await expect(get("/fleet/", { timeoutMs: 5 })).rejects.toMatchObject({ code: "timeout" });
  await expect(get("/fleet/", { signal: AbortSignal.abort() })).rejects.not.toBeInstanceOf(ProblemError);
});

test("whoever is signed out is told; 204 has no body; 207 can be told from 200", async () => {
  let told = 0;
  const leave = onSignedOut(() => (told += 1));
  answering(401, { code: "not_authenticated", detail: "sign in" });
  await expect(get("/fleet/")).rejects.toMatchObject({ status: 401 });
  leave();
  expect(told).toBe(1);
  answering(204, null);
  await expect(del("/session/")).resolves.toBeUndefined();
  answering(207, { brokers: [], is_complete: false });
  const answered = await call("delete", "/clusters/{cluster}/topics/{topic}/", {
    params: { cluster: "c", topic: "t" },
  });
  expect(answered).toEqual({ status: 207, data: { brokers: [], is_complete: false } });
});

test("only what may be different the next time is tried again", () => {
  const problem = (status: number) => new ProblemError({ status, code: "x", detail: "" });
  expect([0, 503, 504].map((status) => shouldRetry(0, problem(status)))).toEqual([true, true, true]);
  expect([400, 401, 404, 409, 500].some((status) => shouldRetry(0, problem(status)))).toBe(false);
  expect(shouldRetry(2, problem(503))).toBe(false);
});
