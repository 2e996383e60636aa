/** JSON as text: indented and cut into tokens without parsing numbers, so that 64-bit ones keep every digit. Pure. */
export interface Token {
  kind: "key" | "string" | "number" | "word" | null;
  text: string;
}

const PARTS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;

export function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** Text that is no JSON stays as it is. */
export function indentJson(text: string): string {
  if (!isJson(text)) return text;
  let depth = 0;
  let written = "";
  const parts = text.match(PARTS) ?? [];
  const line = () => `\n${"  ".repeat(depth)}`;
  parts.forEach((part, at) => {
    const before = parts[at - 1];
    if (part === "{" || part === "[") {
      depth += 1;
      written += part + (isClosing(parts[at + 1]) ? "" : line());
    } else if (isClosing(part)) {
      depth -= 1;
      written += (before === "{" || before === "[" ? "" : line()) + part;
    } else if (part === ",") written += part + line();
    else if (part === ":") written += ": ";
    else written += part;
  });
  return written;
}

function isClosing(part: string | undefined): boolean {
  return part === "}" || part === "]";
}

export function jsonTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(/"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g)) {
    if (match.index > at) tokens.push({ kind: null, text: text.slice(at, match.index) });
    at = match.index + match[0].length;
    tokens.push({ kind: kindOf(match[0], text.slice(at, at + 1)), text: match[0] });
  }
  if (at < text.length) tokens.push({ kind: null, text: text.slice(at) });
  return tokens;
}

function kindOf(part: string, next: string): Token["kind"] {
  if (part.startsWith('"')) return next === ":" ? "key" : "string";
  return /^[tfn]/.test(part) ? "word" : "number";
}
