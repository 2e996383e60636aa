/**
 * What a body is and how it can be shown: bytes to text, to hexadecimal, to an image's kind. Pure.
 * SVG is text here: whatever a stranger wrote, nothing of it is ever run or drawn as markup.
 */
import type { components } from "@/types/api.gen";

export type Body = components["schemas"]["Body"];
export type View = "json" | "text" | "hex" | "image";

export function bytesOf(body: Body): Uint8Array<ArrayBuffer> {
  if (body.base64 !== null) return fromBase64(body.base64);
  return new TextEncoder().encode(body.text ?? "");
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  const STEP = 32 * 1024;
  for (let at = 0; at < bytes.length; at += STEP) {
    binary += String.fromCharCode(...bytes.subarray(at, at + STEP));
  }
  return btoa(binary);
}

const MAGIC: readonly (readonly [type: string, at: number, bytes: readonly number[]])[] = [
  ["image/png", 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", 0, [0xff, 0xd8, 0xff]],
  ["image/gif", 0, [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", 8, [0x57, 0x45, 0x42, 0x50]],
  ["image/bmp", 0, [0x42, 0x4d]],
];

/** By its first bytes; null: no image that we would draw. */
export function imageType(bytes: Uint8Array): string | null {
  const found = MAGIC.find(([, at, magic]) => magic.every((byte, step) => bytes[at + step] === byte));
  return found && bytes.length > 16 ? found[0] : null;
}

/** The ways in which it can be shown, the best one first. */
export function viewsOf(body: Body): View[] {
  if (body.kind === "masked" || body.kind === "damaged") return [];
  if (body.kind === "json") return ["json", "text", "hex"];
  if (body.kind === "text") return ["text", "hex"];
  const bytes = bytesOf(body);
  if (imageType(bytes) !== null) return ["image", "hex", "text"];
  return isMostlyText(bytes) ? ["text", "hex"] : ["hex", "text"];
}

const LOOKED_AT = 4096;

function isMostlyText(bytes: Uint8Array): boolean {
  const few = bytes.subarray(0, LOOKED_AT);
  let odd = 0;
  for (const byte of few) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) odd += 1;
  return odd * 10 < few.length && !looseText(few).includes("⟨");
}

/** As text where it is UTF-8, and ⟨FF⟩ for every byte that is not: nothing is left out, nothing made up. */
export function looseText(bytes: Uint8Array): string {
  let written = "";
  let from = 0;
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  while (from < bytes.length) {
    const length = validLength(bytes, from);
    written += strict.decode(bytes.subarray(from, from + length));
    from += length;
    const byte = bytes[from];
    if (byte !== undefined) {
      written += `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
      from += 1;
    }
  }
  return written;
}

/** How many bytes from there on are UTF-8. */
function validLength(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) break;
    at += length;
  }
  return at - from;
}

/** Of one character; 0: not one. Overlong forms, surrogates and what lies beyond Unicode are none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length =
    first >= 0xc2 && first < 0xe0
      ? 2
      : first >= 0xe0 && first < 0xf0
        ? 3
        : first >= 0xf0 && first < 0xf5
          ? 4
          : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const second = bytes[at + 1] ?? 0;
  const [low, high] =
    first === 0xe0
      ? [0xa0, 0xbf]
      : first === 0xed
        ? [0x80, 0x9f]
        : first === 0xf0
          ? [0x90, 0xbf]
          : first === 0xf4
            ? [0x80, 0x8f]
            : [0x80, 0xbf];
  if (second < low || second > high) return 0;
  for (let step = 2; step < length; step += 1) if (((bytes[at + step] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

const WIDTH = 16;

/** `00000010  68 65 6c …  |hel.|`, as hexdump writes it. */
export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const row = Array.from(bytes.subarray(at, at + WIDTH));
    const cells = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const left = cells.slice(0, 8).join(" ").padEnd(23);
    const right = cells.slice(8).join(" ").padEnd(23);
    const shown = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${left}  ${right}  |${shown}|`);
  }
  return lines;
}

const PREVIEW = 240;

/** One line of it for lists; null where there is no text to show. */
export function previewOf(body: Body): string | null {
  if (body.kind === "masked" || body.kind === "damaged") return null;
  const text = body.text ?? (isMostlyText(bytesOf(body)) ? looseText(bytesOf(body)) : null);
  return text === null ? null : text.slice(0, PREVIEW).replace(/\s+/g, " ").trim();
}
