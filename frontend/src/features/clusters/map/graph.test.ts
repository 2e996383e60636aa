import { describe, expect, it } from "vitest";
import type { LiveRow } from "../cluster_data";
import { joinedTo } from "./edges";
import { GROUPS_PER_TOPIC, graphOf, MOST_GROUPS, type Reader, sumLag, type Topic } from "./graph";
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

function topic(name: string, groups: Reader[], brokers = ["a"], senders: string[] | null = ["shop"]): Topic {
  return {
    topic: name,
    kind: "normal",
    put_rate: 5,
    senders,
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
  const SHOP = { broker: "a", producer_group: "shop", members: [{ client_id: "c1", language: "JAVA" }] };
  it("leads from producers over topics and brokers to groups", () => {
    const graph = graphOf([topic("orders", [reader("billing")])], [MASTER], [SHOP]);
    expect(graph.edges.map((edge) => edge.id)).toEqual([
      "producer:shop→topic:orders",
      "topic:orders→broker:a",
      "broker:a→group:billing",
    ]);
  });
  it("joins producers to brokers where those do not say what is sent", () => {
    const graph = graphOf([topic("orders", [], ["a"], null)], [MASTER], [SHOP]);
    expect(graph.edges.map((edge) => edge.id)).toEqual(["producer:shop→broker:a", "topic:orders→broker:a"]);
  });
  it("shows who sent and is gone, and nobody to whom it is not for", () => {
    const sent = [topic("orders", [], ["a"], ["night"])];
    expect(graphOf(sent, [MASTER], []).columns.producers).toMatchObject([{ name: "night", clients: 0 }]);
    expect(graphOf(sent, [MASTER], null).columns.producers).toEqual([]);
  });
  it("draws one line for all topics between two, and its rate where every one is known", () => {
    const both = ["orders", "mail"].map((name) => topic(name, [reader("billing")]));
    const [line] = graphOf(both, [MASTER], []).edges.filter((edge) => edge.to === "group:billing");
    expect(line).toMatchObject({ topics: ["orders", "mail"], rate: 2 });
    const spread = graphOf([topic("orders", [reader("billing")], ["a", "b"])], [MASTER], []);
    expect(spread.edges.filter((edge) => edge.to === "group:billing").map((edge) => edge.rate)).toEqual([
      null,
      null,
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
  it("follows a node both ways, topic by topic", () => {
    const graph = graphOf(
      [topic("orders", [reader("billing")]), topic("mail", [reader("mailer")], ["a"], ["post"])],
      [MASTER],
      [SHOP],
    );
    const chain = new Set(["producer:shop", "topic:orders", "broker:a", "group:billing"]);
    for (const id of chain) if (id !== "broker:a") expect(joinedTo(id, graph.edges)).toEqual(chain);
    expect(joinedTo("broker:a", graph.edges).size).toBe(7);
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
