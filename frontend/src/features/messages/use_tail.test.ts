import { expect, it } from "vitest";
import type { Message } from "@/shared/message/cells";
import { KEPT, type TailState, withNew } from "./use_tail";

const message = (id: number) => ({ offset_id: String(id) }) as Message;
const EMPTY: TailState = { messages: [], dropped: 0, problems: [], error: null, isHidden: true };

it("puts the newest first and says how many were let go", () => {
  const first = withNew(EMPTY, [message(1), message(2)], []);
  expect(first.messages.map((one) => one.offset_id)).toEqual(["2", "1"]);
  expect(first.isHidden).toBe(false);
  const many = withNew(
    first,
    Array.from({ length: KEPT }, (_, at) => message(at + 3)),
    ["queue 1"],
  );
  expect(many.messages).toHaveLength(KEPT);
  expect(many.messages[0]?.offset_id).toBe(String(KEPT + 2));
  expect(many.dropped).toBe(2);
  expect(many.problems).toEqual(["queue 1"]);
});
