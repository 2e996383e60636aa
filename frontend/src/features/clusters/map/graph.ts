/**
 * The routing map as nodes and edges in four columns: producers, topics with their queues, the broker groups that hold
 * them, consumer groups. Pure.
 *
 * Only what is known is drawn. Of a topic the groups that are furthest behind are drawn, the others are counted: ten
 * thousand topics stay readable.
 */
import type { Answer } from "@/shared/api/client";
import { toBigInt } from "@/shared/format/numbers";
import type { LiveRow } from "../cluster_data";
import { edgesOf, type MapEdge, type Reading } from "./edges";

export type Routing = Answer<"/clusters/{cluster}/routing/">;
export type Topic = Routing["results"][number];
export type Reader = Topic["groups"][number];

export interface ProducerNode {
  kind: "producer";
  id: string;
  name: string;
  clients: number;
  languages: string[];
  brokers: string[];
  /** Those on the map that it sent to lately, by the brokers that say so. */
  topics: string[];
}
export interface BrokerNode {
  kind: "broker";
  id: string;
  name: string;
  members: LiveRow[];
  master: LiveRow | undefined;
}
export interface TopicNode {
  kind: "topic";
  id: string;
  name: string;
  topic: Topic;
  queues: number;
  /** Null: not known for one of its groups. */
  lag: string | null;
  moreGroups: number;
}
export interface GroupNode {
  kind: "group";
  id: string;
  name: string;
  lag: string | null;
  rate: number | null;
  etaS: number | null;
  neverClears: boolean;
  topics: string[];
}
export interface MoreNode {
  kind: "more";
  id: string;
  column: Column;
  count: number;
}
export type MapNode = ProducerNode | BrokerNode | TopicNode | GroupNode | MoreNode;
export type Column = "producers" | "topics" | "brokers" | "groups";

export interface MapGraph {
  columns: Record<Column, MapNode[]>;
  edges: MapEdge[];
}

export const GROUPS_PER_TOPIC = 6;
export const MOST_PRODUCERS = 24;
export const MOST_GROUPS = 60;

export function graphOf(
  topics: readonly Topic[],
  brokers: readonly LiveRow[],
  producers: Routing["producers"],
): MapGraph {
  const made = producersOf(producers, topics);
  const shownProducers = made.slice(0, MOST_PRODUCERS);
  const { topicNodes, groups, readings } = readersOf(topics);
  const columns = {
    producers: [...shownProducers, ...more("producers", made.length - shownProducers.length)],
    topics: topicNodes,
    brokers: brokersOf(brokers, topics, producers),
    groups: [...groups.slice(0, MOST_GROUPS), ...more("groups", groups.length - MOST_GROUPS)],
  };
  const drawn = new Set(Object.values(columns).flatMap((nodes) => nodes.map((node) => node.id)));
  const edges = edgesOf(shownProducers, topics, readings);
  return { columns, edges: edges.filter((one) => drawn.has(one.from) && drawn.has(one.to)) };
}

function more(column: Column, count: number): MoreNode[] {
  return count > 0 ? [{ kind: "more", id: `more:${column}`, column, count }] : [];
}

/** Those that the socket tells, and those that only a topic or a producer names. */
function brokersOf(
  rows: readonly LiveRow[],
  topics: readonly Topic[],
  producers: Routing["producers"],
): BrokerNode[] {
  const groups = new Map<string, LiveRow[]>();
  for (const row of rows) groups.set(row.broker_name, [...(groups.get(row.broker_name) ?? []), row]);
  const named = [
    ...topics.flatMap((topic) => topic.brokers.map((part) => part.broker)),
    ...(producers ?? []).map((one) => one.broker),
  ];
  for (const name of named) if (!groups.has(name)) groups.set(name, []);
  return [...groups.entries()].sort(byName).map(([name, members]) => ({
    kind: "broker",
    id: `broker:${name}`,
    name,
    members: [...members].sort((a, b) => a.member - b.member),
    master: members.find((row) => row.role === "master"),
  }));
}

const byName = (a: [string, unknown], b: [string, unknown]) => a[0].localeCompare(b[0]);

/** Who is connected, and who sent lately and is gone; nobody where it is not for the reader to see. */
function producersOf(edges: Routing["producers"], topics: readonly Topic[]): ProducerNode[] {
  if (edges === null) return [];
  const found = new Map<string, Record<"brokers" | "clients" | "languages" | "topics", Set<string>>>();
  const noted = (name: string) => {
    const one = found.get(name) ?? {
      brokers: new Set(),
      clients: new Set(),
      languages: new Set(),
      topics: new Set(),
    };
    found.set(name, one);
    return one;
  };
  for (const { broker, producer_group: name, members } of edges) {
    if (name === null) continue;
    const one = noted(name);
    one.brokers.add(broker);
    for (const member of members ?? []) {
      one.clients.add(String(member.client_id));
      one.languages.add(String(member.language));
    }
  }
  for (const topic of topics) for (const name of topic.senders ?? []) noted(name).topics.add(topic.topic);
  return [...found.entries()]
    .map(([name, one]): ProducerNode => ({
      kind: "producer",
      id: `producer:${name}`,
      name,
      clients: one.clients.size,
      languages: [...one.languages],
      brokers: [...one.brokers],
      topics: [...one.topics],
    }))
    .sort(
      (a, b) => b.topics.length - a.topics.length || b.clients - a.clients || a.name.localeCompare(b.name),
    );
}

/** Topics in the API's order; groups by the first topic that they read, so that lines cross little. */
function readersOf(topics: readonly Topic[]) {
  const groups = new Map<string, GroupNode>();
  const readings: Reading[] = [];
  const topicNodes = topics.map((topic): TopicNode => {
    const sorted = [...topic.groups].sort(byLag);
    const shown = sorted.slice(0, GROUPS_PER_TOPIC);
    for (const reader of shown) {
      if (!groups.has(reader.group) && groups.size >= MOST_GROUPS * 2) continue;
      addReading(groups, topic, reader);
      readings.push({ topic, reader, isLagging: isLagging(reader) });
    }
    return {
      kind: "topic",
      id: `topic:${topic.topic}`,
      name: topic.topic,
      topic,
      queues: topic.brokers.reduce((sum, part) => sum + part.write_queues, 0),
      lag: sumLag(topic.groups.map(wholeLag)),
      moreGroups: sorted.length - shown.length,
    };
  });
  return { topicNodes, groups: [...groups.values()], readings };
}

function byLag(a: Reader, b: Reader): number {
  const [left, right] = [toBigInt(a.lag ?? "-1"), toBigInt(b.lag ?? "-1")];
  return left === right ? a.group.localeCompare(b.group) : left > right ? -1 : 1;
}

export function isLagging(reader: Reader): boolean {
  return reader.never_clears && reader.lag !== null && toBigInt(reader.lag) > 0n;
}

function addReading(groups: Map<string, GroupNode>, topic: Topic, reader: Reader) {
  const before = groups.get(reader.group);
  groups.set(reader.group, {
    kind: "group",
    id: `group:${reader.group}`,
    name: reader.group,
    lag: sumLag(before ? [before.lag, wholeLag(reader)] : [wholeLag(reader)]),
    rate: before === undefined ? reader.consume_rate : addKnown(before.rate, reader.consume_rate),
    etaS: slowest(before?.etaS, reader.eta_s),
    neverClears: (before?.neverClears ?? false) || isLagging(reader),
    topics: [...(before?.topics ?? []), topic.topic],
  });
}

/** Null where a part of it is not known. */
export function wholeLag(reader: Reader): string | null {
  return reader.lag_is_partial ? null : reader.lag;
}

/** A sum with an unknown part is unknown. */
export function sumLag(lags: readonly (string | null)[]): string | null {
  let sum = 0n;
  for (const lag of lags) {
    if (lag === null) return null;
    sum += toBigInt(lag);
  }
  return String(sum);
}

function addKnown(left: number | null, right: number | null): number | null {
  return left === null || right === null ? null : left + right;
}

function slowest(left: number | null | undefined, right: number | null): number | null {
  if (left === null || left === undefined) return right;
  return right === null ? left : Math.max(left, right);
}
