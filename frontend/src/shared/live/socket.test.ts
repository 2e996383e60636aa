import { beforeEach, expect, test } from "vitest";
import type { ErrorMessage, Told } from "./messages";
import { LiveSocket, type Wire } from "./socket";

/** A wire that a test holds the other end of, and a clock that it turns. */
class FakeWire implements Wire {
  sent: { type: string; channel?: string }[] = [];
  isClosed = false;
  onopen: Wire["onopen"] = null;
  onmessage: Wire["onmessage"] = null;
  onclose: Wire["onclose"] = null;
  send(text: string) {
    this.sent.push(JSON.parse(text) as { type: string });
  }
  close() {
    this.isClosed = true;
  }
  say(message: object) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

let wires: FakeWire[];
let timers: Map<number, { action: () => void; at: number }>;
let now: number;
let socket: LiveSocket;

beforeEach(() => {
  wires = [];
  timers = new Map();
  now = 0;
  let last = 0;
  socket = new LiveSocket({
    open: () => {
      const wire = new FakeWire();
      wires.push(wire);
      return wire;
    },
    later: (action, ms) => {
      last += 1;
      timers.set(last, { action, at: now + ms });
      return last;
    },
    forget: (timer) => timers.delete(timer),
  });
});

function pass(ms: number) {
  const end = now + ms;
  for (;;) {
    const due = [...timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
    if (due === undefined) break;
    timers.delete(due[0]);
    now = due[1].at;
    due[1].action();
  }
  now = end;
}

const wire = () => wires[wires.length - 1] as FakeWire;

function opened(channel: string) {
  const heard: (Told | ErrorMessage)[] = [];
  socket.turnOn();
  const leave = socket.subscribe(channel, (told, error) => heard.push((told ?? error) as Told));
  wire().onopen?.();
  return { heard, leave };
}

const state = (seq: number, data: object) => ({ type: "state", channel: "c", seq, sampled_at: "t1", data });
const change = (seq: number, data: object) => ({ type: "change", channel: "c", seq, sampled_at: "t2", data });

test("states and changes become whole rows; wide numbers are strings", () => {
  const { heard } = opened("c");
  expect(wire().sent).toEqual([{ type: "subscribe", channel: "c" }]);
  wire().say(state(1, { a: { lag: 7, rate: 1 }, b: { lag: 1 } }));
  wire().say(change(2, { a: { lag: 9 }, b: null }));
  expect(heard.at(-1)).toEqual({ seq: 2, sampledAt: "t2", rows: { a: { lag: "9", rate: 1 } } });
});

test("after a gap the state is asked for and rows stay what they were", () => {
  const { heard } = opened("c");
  wire().say(state(1, { a: { lag: 7 } }));
  wire().say(change(3, { a: { lag: 9 } }));
  expect(heard).toHaveLength(1);
  expect(wire().sent.at(-1)).toEqual({ type: "resync", channel: "c" });
  wire().say(state(4, { a: { lag: 11 } }));
  expect((heard.at(-1) as Told).rows).toEqual({ a: { lag: "11" } });
});

test("two listeners share one subscription, which ends some time after the last has left", () => {
  const { leave } = opened("c");
  const second = socket.subscribe("c", () => undefined);
  expect(wire().sent).toHaveLength(1);
  leave();
  second();
  const third = socket.subscribe("c", () => undefined);
  pass(1_000);
  expect(wire().sent).toHaveLength(1);
  third();
  pass(1_000);
  expect(wire().sent.at(-1)).toEqual({ type: "unsubscribe", channel: "c" });
});

test("a dead socket means polling, and is tried again ever less often", () => {
  const { heard } = opened("c");
  expect(socket.state).toBe("live");
  wire().onclose?.({ code: 1006 });
  expect(socket.state).toBe("polling");
  pass(1_000);
  expect(wires).toHaveLength(2);
  wire().onclose?.({ code: 1006 });
  pass(1_000);
  expect(wires).toHaveLength(2);
  pass(1_000);
  expect(wires).toHaveLength(3);
  wire().onopen?.();
  expect(socket.state).toBe("polling");
  expect(wire().sent).toEqual([{ type: "subscribe", channel: "c" }, { type: "ping" }]);
  wire().say(state(1, {}));
  expect(socket.state).toBe("live");
  expect(heard).toHaveLength(1);
});

test("what a wire told is forgotten when it dies: whatever is read afterwards is newer", () => {
  const { heard } = opened("c");
  wire().say(state(1, { a: { lag: 7 } }));
  wire().onclose?.({ code: 1006 });
  expect(heard.at(-1)).toBeNull();
  const late: (Told | null)[] = [];
  socket.subscribe("c", (told) => late.push(told));
  pass(1_000);
  wire().onclose?.({ code: 1006 });
  expect([heard.length, late]).toEqual([2, []]);
});

test("a socket that opens and is dropped at once does not disturb polling", () => {
  const { heard } = opened("c");
  wire().onclose?.({ code: 1011 });
  const states: string[] = [];
  socket.watch(() => states.push(socket.state));
  for (const wait of [1_000, 2_000, 4_000, 8_000]) {
    const before = wires.length;
    pass(wait - 1);
    expect(wires).toHaveLength(before);
    pass(1);
    expect(wires).toHaveLength(before + 1);
    wire().onopen?.();
    wire().onclose?.({ code: 1011 });
  }
  expect([states, heard]).toEqual([[], []]);
});

test("a wire that says nothing is pinged, and then taken for dead", () => {
  opened("c");
  pass(20_000);
  expect(wire().sent.at(-1)).toEqual({ type: "ping" });
  wire().say({ type: "pong" });
  pass(34_000);
  expect(socket.state).toBe("live");
  pass(2_000);
  expect(socket.state).toBe("polling");
  expect(wires[0]?.isClosed).toBe(true);
});

test("a handshake that nobody answers is given up", () => {
  socket.turnOn();
  expect(socket.state).toBe("connecting");
  pass(15_000);
  expect([socket.state, wires[0]?.isClosed]).toEqual(["polling", true]);
  wires[0]?.onopen?.();
  expect(socket.state).toBe("polling");
});

test("a hidden tab pauses after a while and comes back at once", () => {
  opened("c");
  socket.setHidden(true);
  pass(5_000);
  socket.setHidden(false);
  pass(15_000);
  wire().say({ type: "pong" });
  expect(socket.state).toBe("live");
  socket.setHidden(true);
  pass(15_000);
  expect(socket.state).toBe("paused");
  expect(wires[0]?.isClosed).toBe(true);
  pass(600_000);
  expect(wires).toHaveLength(1);
  socket.setHidden(false);
  expect(wires).toHaveLength(2);
});

test("whoever is signed out is told, and nothing is tried again", () => {
  const codes: number[] = [];
  socket.onClosed = (code) => codes.push(code);
  opened("c");
  wire().onclose?.({ code: 4401 });
  pass(600_000);
  expect([codes, socket.state, wires.length]).toEqual([[4401], "off", 1]);
  socket.turnOn();
  expect(wires).toHaveLength(2);
});

test("a channel that is refused says why", () => {
  const { heard } = opened("c");
  wire().say({ type: "error", channel: "c", code: "not_found", detail: "there is no cluster" });
  expect((heard[0] as ErrorMessage).code).toBe("not_found");
});
