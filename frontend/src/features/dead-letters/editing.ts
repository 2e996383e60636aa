/** What of a dead letter can be edited, and what of the edits the API must be told. Pure. */
import type { Message } from "@/shared/message/cells";
import { type Content, contentOf, type Draft, EMPTY_DRAFT, propertiesText } from "@/shared/message/content";

export const EDITED_BYTES = 1024 * 1024;

/** Why the body stays as it is stored; null: it can be edited. */
export function keepsBody(
  message: Pick<Message, "body" | "is_masked">,
): "binary" | "large" | "masked" | "damaged" | null {
  const { body } = message;
  if (body.kind === "masked" || message.is_masked) return "masked";
  if (body.kind === "damaged") return "damaged";
  if (body.kind === "binary") return "binary";
  return (body.size ?? 0) > EDITED_BYTES ? "large" : null;
}

/** The form as it begins; `text` is the whole body, never the part of it that lists show. */
export function draftOf(message: Pick<Message, "tags" | "keys" | "properties">, text: string): Draft {
  return {
    ...EMPTY_DRAFT,
    text,
    tags: message.tags ?? "",
    keys: message.keys.join(" "),
    properties: propertiesText(message.properties),
  };
}

/** Only what became different: what is not said stays as the stored bytes have it. */
export function editsOf(before: Draft, after: Draft, keeps: boolean): Content {
  const [was, is] = [contentOf(before), contentOf(after)];
  const edits: Content = {};
  if (!keeps && (after.kind !== "text" || after.text !== before.text)) {
    if (is.body !== undefined) edits.body = is.body;
    if (is.body_base64 !== undefined) edits.body_base64 = is.body_base64;
  }
  if (is.tags !== was.tags) edits.tags = is.tags;
  if (JSON.stringify(is.keys) !== JSON.stringify(was.keys)) edits.keys = is.keys;
  if (JSON.stringify(is.properties) !== JSON.stringify(was.properties)) edits.properties = is.properties;
  return edits;
}
