/**
 * Texts of strangers made safe to look at: control characters, line separators and marks that turn the direction of
 * writing are shown as what they are, so that a name cannot look like another one. Pure.
 */
export interface Piece {
  text: string;
  /** A character that would not be seen, or would change how others are seen. */
  isControl: boolean;
}

/** Tab and line feed stay; CR, the other controls, bidi marks, zero-width and lone surrogates do not. */
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), isControl: false });
    pieces.push({ text: shownAs(match[0]), isControl: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isControl: false });
  return pieces;
}

/** In one string, for titles and file names. */
export function visible(text: string): string {
  return text.replace(HIDDEN, shownAs);
}

function shownAs(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x20
    ? String.fromCharCode(0x2400 + code)
    : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The beginning of it, at most so many characters and never half of one. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}
