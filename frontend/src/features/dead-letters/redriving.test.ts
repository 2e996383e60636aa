import { expect, it } from "vitest";
import { CAREFUL, requestOf } from "./redriving";

it("asks for all, or for a selection, never for both", () => {
  expect(requestOf([], CAREFUL)).toMatchObject({ all: true, target: "group", max_failure_share: 0.1 });
  expect(requestOf([], CAREFUL)).not.toHaveProperty("selection");
  expect(requestOf(["A"], { ...CAREFUL, target: "topic", topic: " t " })).toMatchObject({
    all: false,
    selection: ["A"],
    topic: "t",
  });
  expect(requestOf(["A"], { ...CAREFUL, topic: "left over" })).not.toHaveProperty("topic");
});
