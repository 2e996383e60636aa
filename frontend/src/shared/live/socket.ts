/**
 * The one websocket of this tab (docs/live.md): channels that screens want, told to them as whole rows.
 *
 * States: `live`; `connecting`; `polling` (the socket is dead: screens ask every ten seconds, and it is tried
 * again, ever less often); `paused` (the tab has been hidden for a while: nothing is asked); `off` (nobody is signed
 * in). What a wire told is forgotten when it dies: reads that come after it are newer. Sequence numbers are watched per channel: after a gap the state is asked for, and until it is there the rows
 * stay what they were. Time and the socket itself are given in, so that tests need neither.
 */
import { type ErrorMessage, parseMessage, take, type Told } from "./messages";

export type LiveState = "off" | "connecting" | "live" | "polling" | "paused";
/** Neither: what was told is known no longer. */
export type Listener = (told: Told | null, error: ErrorMessage | null) => void;

export interface Wire {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: string }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
}

export interface World {
  open: () => Wire;
  later: (action: () => void, ms: number) => number;
  forget: (timer: number) => void;
}

export const SIGNED_OUT = 4401;
export const NO_RIGHTS = 4403;
const TOO_MANY = 4409;
/** As browsers call a connection that broke. */
const DEAD = 1006;
const PING_MS = 20_000;
const SILENT_MS = 15_000;
const HIDDEN_MS = 15_000;
const SLOWEST_MS = 30_000;
/** Screens let go of a channel and take it again at once when they are drawn anew. */
const LINGER_MS = 500;

interface Channel {
  listeners: Set<Listener>;
  told: Told | undefined;
  lingering: number | null;
}

export class LiveSocket {
  state: LiveState = "off";
  onClosed: (code: number) => void = () => undefined;
  private readonly channels = new Map<string, Channel>();
  private readonly watchers = new Set<() => void>();
  private wire: Wire | null = null;
  private failures = 0;
  private retry: number | null = null;
  private ping: number | null = null;
  private hiding: number | null = null;
  private isOpen = false;
  private isHidden = false;
  private isOn = false;

  constructor(private readonly world: World) {}

  // -- for screens ------------------------------------------------------------------------------------------

  subscribe(name: string, listener: Listener): () => void {
    const channel = this.channels.get(name) ?? this.add(name);
    if (channel.lingering !== null) this.world.forget(channel.lingering);
    channel.lingering = null;
    channel.listeners.add(listener);
    if (channel.told) listener(channel.told, null);
    return () => this.leave(name, channel, listener);
  }

  watch(listener: () => void): () => void {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  }

  // -- for the shell ----------------------------------------------------------------------------------------

  turnOn() {
    this.isOn = true;
    if (this.wire === null && !this.isHidden) this.connect();
  }

  turnOff() {
    this.isOn = false;
    this.disconnect("off");
  }

  setHidden(isHidden: boolean) {
    if (this.hiding !== null) this.world.forget(this.hiding);
    this.hiding = null;
    if (!isHidden) {
      this.isHidden = false;
      if (this.isOn && this.wire === null) this.connect();
    } else {
      this.hiding = this.world.later(() => this.pause(), HIDDEN_MS);
    }
  }

  // -- channels ---------------------------------------------------------------------------------------------

  private add(name: string): Channel {
    const channel: Channel = { listeners: new Set(), told: undefined, lingering: null };
    this.channels.set(name, channel);
    if (this.isOpen) this.say({ type: "subscribe", channel: name });
    return channel;
  }

  private leave(name: string, channel: Channel, listener: Listener) {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || channel.lingering !== null) return;
    channel.lingering = this.world.later(() => {
      this.channels.delete(name);
      if (this.isOpen) this.say({ type: "unsubscribe", channel: name });
    }, LINGER_MS);
  }

  // -- the wire ---------------------------------------------------------------------------------------------

  private connect() {
    if (this.retry !== null) this.world.forget(this.retry);
    this.retry = null;
    if (this.failures === 0) this.become("connecting");
    const wire = this.world.open();
    this.wire = wire;
    wire.onopen = () => this.opened(wire);
    wire.onmessage = (event) => this.heard(event.data);
    wire.onclose = (event) => this.closed(wire, event.code);
    // A handshake that nobody answers would keep a page waiting for ever.
    this.ping = this.world.later(() => this.giveUp(wire), SILENT_MS);
  }

  private opened(wire: Wire) {
    if (wire !== this.wire) return;
    this.isOpen = true;
    for (const [name, channel] of this.channels) {
      channel.told = undefined;
      this.say({ type: "subscribe", channel: name });
    }
    // A proxy may open what it drops at once: after a failure only an answer is proof, and until then
    // screens go on asking, undisturbed.
    if (this.failures === 0) this.become("live");
    else this.say({ type: "ping" });
    this.pingLater();
  }

  private heard(text: string) {
    this.failures = 0;
    if (this.isOpen) this.become("live");
    this.pingLater();
    const message = parseMessage(text);
    if (message.type === "error") this.tellError(message);
    if (message.type !== "state" && message.type !== "change") return;
    const channel = this.channels.get(message.channel);
    if (channel === undefined) return;
    const told = take(channel.told, message);
    if (told === null) {
      this.say({ type: "resync", channel: message.channel });
      return;
    }
    channel.told = told;
    for (const listener of channel.listeners) listener(told, null);
  }

  private tellError(message: ErrorMessage) {
    const channel = message.channel === undefined ? undefined : this.channels.get(message.channel);
    for (const listener of channel?.listeners ?? []) listener(null, message);
  }

  private closed(wire: Wire, code: number) {
    if (wire !== this.wire) return;
    this.drop();
    if (!this.isOn || this.isHidden) return;
    this.failures += 1;
    this.become(code === SIGNED_OUT ? "off" : "polling");
    this.onClosed(code);
    if (code === SIGNED_OUT) return;
    this.forgetTold();
    const soonest = code === TOO_MANY ? SLOWEST_MS : 0;
    const wait = Math.max(soonest, Math.min(SLOWEST_MS, 500 * 2 ** this.failures));
    this.retry = this.world.later(() => this.connect(), wait);
  }

  private forgetTold() {
    for (const channel of this.channels.values()) {
      if (channel.told === undefined) continue;
      channel.told = undefined;
      for (const listener of channel.listeners) listener(null, null);
    }
  }

  private pause() {
    this.isHidden = true;
    if (this.isOn) this.disconnect("paused");
  }

  private disconnect(state: LiveState) {
    const wire = this.wire;
    this.drop();
    if (this.retry !== null) this.world.forget(this.retry);
    this.retry = null;
    this.failures = 0;
    wire?.close();
    this.become(state);
  }

  private drop() {
    this.wire = null;
    this.isOpen = false;
    if (this.ping !== null) this.world.forget(this.ping);
    this.ping = null;
  }

  /** After some silence a ping; after more of it the wire is taken for dead. */
  private pingLater() {
    if (this.ping !== null) this.world.forget(this.ping);
    this.ping = this.world.later(() => {
      this.say({ type: "ping" });
      const wire = this.wire;
      if (wire !== null) this.ping = this.world.later(() => this.giveUp(wire), SILENT_MS);
    }, PING_MS);
  }

  private giveUp(wire: Wire) {
    if (wire !== this.wire) return;
    wire.close();
    this.closed(wire, DEAD);
  }

  private say(message: { type: string; channel?: string }) {
    if (this.isOpen) this.wire?.send(JSON.stringify(message));
  }

  private become(state: LiveState) {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}
