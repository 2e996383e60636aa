import { describe, expect, it } from "vitest";
import type { LiveRow } from "../cluster_data";
import { GROUPS_PER_TOPIC, graphOf, joinedTo, MOST_GROUPS, type Reader, sumLag, type Topic } from "./graph";
import { heightOf, layOut, strokeOf } from "./layout";

function reader(group: string, lag: string | null = "0", more: Partial<Reader> = {}): Reader {
  return {
    group,
    lag,
    lag_is_partial: false,
    oldest_unread_at: null,
    consume_rate: 1,
    eta_s: null,
    never_clears: false,
    expression: "*",
    ...more,
  };
}

function topic(name: string, groups: Reader[], brokers = ["a"]): Topic {
  return {
    topic: name,
    kind: "normal",
    put_rate: 5,
    brokers: brokers.map((broker) => ({ broker, read_queues: 4, write_queues: 4, perm: 6 })),
    groups,
    hidden_groups: 0,
  };
}

const MASTER = {
  broker_name: "a",
  member: 0,
  role: "master",
  is_reachable: true,
  ha: {},
  rates: {},
} as unknown as LiveRow;

describe("the routing map", () => {
  it("joins producers to brokers, brokers to topics, topics to groups", () => {
    const producers = [
      { broker: "a", producer_group: "shop", members: [{ client_id: "c1", language: "JAVA" }] },
    ];
    const graph = graphOf([topic("orders", [reader("billing")])], [MASTER], producers);
    expect(graph.edges.map((edge) => edge.id)).toEqual([
      "producer:shop→broker:a",
      "broker:a→topic:orders",
      "topic:orders→group:billing",
    ]);
  });
  it("draws the groups that are furthest behind and counts the others", () => {
    const readers = Array.from({ length: 20 }, (_, at) => reader(`g${at}`, String(at)));
    const graph = graphOf([topic("orders", readers)], [MASTER], []);
    const [node] = graph.columns.topics;
    expect(node).toMatchObject({ moreGroups: 20 - GROUPS_PER_TOPIC, lag: "190" });
    expect(graph.columns.groups.map((one) => one.id)).toContain("group:g19");
    expect(graph.columns.groups.map((one) => one.id)).not.toContain("group:g0");
  });
  it("stays small however many groups there are", () => {
    const topics = Array.from({ length: 100 }, (_, at) =>
      topic(
        `t${at}`,
        Array.from({ length: 6 }, (_, number) => reader(`g${at}-${number}`)),
      ),
    );
    const graph = graphOf(topics, [MASTER], []);
    expect(graph.columns.groups).toHaveLength(MOST_GROUPS + 1);
    expect(graph.columns.groups[MOST_GROUPS]).toMatchObject({ kind: "more" });
  });
  it("keeps unknown unknown", () => {
    expect(sumLag(["1", null])).toBeNull();
    expect(sumLag(["9007199254740993", "1"])).toBe("9007199254740994");
    for (const unsure of [reader("g", null), reader("g", "7", { lag_is_partial: true })]) {
      const { columns } = graphOf([topic("t", [unsure])], [], null);
      expect([columns.topics[0], columns.groups[0]]).toMatchObject([{ lag: null }, { lag: null }]);
    }
  });
  it("shows brokers that only a topic names", () => {
    const graph = graphOf([topic("orders", [], ["gone"])], [], []);
    expect(graph.columns.brokers).toMatchObject([{ name: "gone", members: [] }]);
  });
  it("follows a node both ways and nothing else", () => {
    const graph = graphOf(
      [topic("orders", [reader("billing")]), topic("mail", [reader("mailer")], ["b"])],
      [MASTER],
      [],
    );
    expect(joinedTo("topic:orders", graph.edges)).toEqual(
      new Set(["topic:orders", "broker:a", "group:billing"]),
    );
  });
});

describe("its layout", () => {
  it("stands in columns that do not overlap", () => {
    const graph = graphOf([topic("a", [reader("g")]), topic("b", [reader("h")])], [MASTER], []);
    const { placed } = layOut(graph);
    const topics = placed.filter((one) => one.column === "topics");
    expect(topics[1]?.y).toBeGreaterThanOrEqual(
      (topics[0]?.y ?? 0) + heightOf(graph.columns.topics[0] as never),
    );
  });
  it("draws busy lines thicker, within bounds", () => {
    expect(strokeOf(null)).toBe(1);
    expect(strokeOf(1e9)).toBe(5);
    expect(strokeOf(100)).toBeGreaterThan(strokeOf(10));
  });
});
