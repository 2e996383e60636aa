/** What can be written into a message by hand, as fields of a form and as the API wants it. Pure. */
import type { components } from "@/types/api.gen";
import { toBase64 } from "./body";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;

export interface Draft {
  kind: "text" | "base64" | "file";
  text: string;
  base64: string;
  file: { name: string; bytes: Uint8Array } | null;
  tags: string;
  /** Separated by spaces. */
  keys: string;
  /** name=value, one a line. */
  properties: string;
}

export type Content = components["schemas"]["ContentRequest"];

export const EMPTY_DRAFT: Draft = {
  kind: "text",
  text: "",
  base64: "",
  file: null,
  tags: "",
  keys: "",
  properties: "",
};

export interface Faults {
  body?: "tooLarge" | "badBase64";
  /** The number of the first line that is not name=value. */
  properties?: number;
}

export function faultsOf(draft: Draft): Faults {
  const faults: Faults = {};
  if (draft.kind === "base64" && !isBase64(draft.base64)) faults.body = "badBase64";
  else if (bodyBytes(draft) > MAX_BODY_BYTES) faults.body = "tooLarge";
  const odd = propertyLines(draft.properties).find((line) => line.text.indexOf("=") < 1);
  if (odd) faults.properties = odd.number;
  return faults;
}

export function bodyBytes(draft: Draft): number {
  if (draft.kind === "file") return draft.file?.bytes.length ?? 0;
  if (draft.kind === "base64") return Math.floor((draft.base64.replace(/\s|=+$/g, "").length * 3) / 4);
  return new TextEncoder().encode(draft.text).length;
}

export function isSendable(draft: Draft): boolean {
  return bodyBytes(draft) > 0 && Object.keys(faultsOf(draft)).length === 0;
}

export function contentOf(draft: Draft): Content {
  return {
    ...bodyOf(draft),
    tags: draft.tags.trim(),
    keys: keysOf(draft.keys),
    properties: propertiesOf(draft.properties),
  };
}

export function bodyOf(draft: Draft): Pick<Content, "body" | "body_base64"> {
  if (draft.kind === "text") return { body: draft.text };
  if (draft.kind === "base64") return { body_base64: draft.base64.replace(/\s/g, "") };
  return { body_base64: toBase64(draft.file?.bytes ?? new Uint8Array()) };
}

export function keysOf(text: string): string[] {
  return text.split(/\s+/).filter((key) => key !== "");
}

export function propertiesOf(text: string): Record<string, string> {
  return Object.fromEntries(
    propertyLines(text).map((line) => {
      const at = line.text.indexOf("=");
      return [line.text.slice(0, at).trim(), line.text.slice(at + 1)];
    }),
  );
}

export function propertiesText(properties: Record<string, string>): string {
  return Object.keys(properties)
    .filter((name) => !isSystemProperty(name))
    .sort()
    .map((name) => `${name}=${properties[name] ?? ""}`)
    .join("\n");
}

function propertyLines(text: string): { text: string; number: number }[] {
  return text
    .split("\n")
    .map((line, at) => ({ text: line.replace(/\r$/, ""), number: at + 1 }))
    .filter((line) => line.text.trim() !== "");
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text.replace(/\s/g, "")) && text.replace(/\s/g, "").length % 4 === 0;
}

const PREFIXES = [
  "__",
  "TIMER_",
  "CLUSTER",
  "DELAY",
  "RETRY_",
  "ORIGIN_",
  "DLQ_ORIGIN_",
  "SIGNALBOX_",
  "CONSUME_START",
  "PGROUP",
  "TRAN_",
  "REAL_",
  "POP_",
  "INNER_",
  "REPLY_",
  "CORRELATION_",
];
const NAMES = new Set([
  "KEYS",
  "TAGS",
  "WAIT",
  "DELAY",
  "UNIQ_KEY",
  "MSG_REGION",
  "TRACE_ON",
  "MIN_OFFSET",
  "MAX_OFFSET",
  "BUYER_ID",
  "TRANSFER_FLAG",
  "CORRECTION_FLAG",
  "MQ2_FLAG",
  "RECONSUME_TIME",
  "UNIQ_CLIENT_MESSAGE_ID_KEYIDX",
  "EXTEND_UNIQ_INFO",
  "MAX_RECONSUME_TIMES",
  "BORN_HOST",
  "BORN_TIMESTAMP",
  "TTL",
  "ARRIVE_TIME",
  "INSTANCE_ID",
]);

/** RocketMQ's own, which no application sets. */
export function isSystemProperty(name: string): boolean {
  return NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
}
