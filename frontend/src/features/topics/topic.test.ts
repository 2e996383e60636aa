import { describe, expect, it } from "vitest";
import { permWord, type Queue, shareOf, skewOf } from "./topic";

function queue(number: number, messages: string): Queue {
  return { broker: "broker-a", queue: number, min: "0", max: messages, messages };
}

describe("permissions", () => {
  it("are said in words, whatever else their bits say", () => {
    expect([6, 4, 2, 0, 7, 1].map(permWord)).toEqual(["rw", "r", "w", "none", "rw", "none"]);
  });
});

describe("a skewed queue", () => {
  it("is one that holds many times the mean", () => {
    const skew = skewOf([
      queue(0, "100"),
      queue(1, "9000"),
      queue(2, "0"),
      queue(3, "0"),
      queue(4, "0"),
      queue(5, "0"),
    ]);
    expect(skew?.queue.queue).toBe(1);
    expect(skew?.ratio).toBeCloseTo(5.9, 1);
  });
  it("is none among equals, few messages or a single queue", () => {
    expect(skewOf([queue(0, "9000"), queue(1, "9100")])).toBeNull();
    expect(skewOf([queue(0, "9"), queue(1, "0"), queue(2, "0"), queue(3, "0"), queue(4, "0")])).toBeNull();
    expect(skewOf([queue(0, "90000")])).toBeNull();
  });
  it("is found beyond 2**53", () => {
    const most = "9223372036854775807";
    expect(
      skewOf([0, 1, 2, 3, 4].map((number) => queue(number, number === 4 ? most : "1")))?.queue.queue,
    ).toBe(4);
  });
});

describe("shares", () => {
  it("are parts of the largest, and nothing of nothing", () => {
    expect([shareOf("5", 10n), shareOf("0", 0n)]).toEqual([0.5, 0]);
  });
});
