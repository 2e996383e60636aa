/**
 * The lines of the routing map, each with the topics whose messages run along it. Pure.
 *
 *     producer → topic    where every broker of the topic says who sends to it
 *     producer → broker   where one does not (Apache's): it is connected there, and that is all that is known
 *     topic → broker      where its queues lie
 *     broker → group      what the group reads there
 */
import type { ProducerNode, Reader, Topic } from "./graph";

export interface MapEdge {
  id: string;
  from: string;
  to: string;
  topics: string[];
  /** Messages per second; null: not known. */
  rate: number | null;
  isLagging: boolean;
}

export interface Reading {
  topic: Topic;
  reader: Reader;
  isLagging: boolean;
}

export function edgesOf(
  producers: readonly ProducerNode[],
  topics: readonly Topic[],
  readings: readonly Reading[],
): MapEdge[] {
  return merged([
    ...producers.flatMap((node) => [...sendsOf(node), ...connectionsOf(node, topics)]),
    ...topics.flatMap((topic) =>
      topic.brokers.map((part) =>
        edge(`topic:${topic.topic}`, `broker:${part.broker}`, topic.topic, shareOf(topic, topic.put_rate)),
      ),
    ),
    ...readings.flatMap(({ topic, reader, isLagging }) =>
      topic.brokers.map((part) =>
        edge(
          `broker:${part.broker}`,
          `group:${reader.group}`,
          topic.topic,
          shareOf(topic, reader.consume_rate),
          isLagging,
        ),
      ),
    ),
  ]);
}

function edge(from: string, to: string, topic: string, rate: number | null, isLagging = false): MapEdge {
  return { id: `${from}→${to}`, from, to, topics: [topic], rate, isLagging };
}

function sendsOf(node: ProducerNode): MapEdge[] {
  return node.topics.map((topic) => edge(node.id, `topic:${topic}`, topic, null));
}

function connectionsOf(node: ProducerNode, topics: readonly Topic[]): MapEdge[] {
  return topics
    .filter((topic) => topic.senders === null)
    .flatMap((topic) => topic.brokers.map((part) => ({ topic: topic.topic, broker: part.broker })))
    .filter(({ broker }) => node.brokers.includes(broker))
    .map(({ topic, broker }) => edge(node.id, `broker:${broker}`, topic, null));
}

/** Rates are a topic's: what of them runs to one broker of several is not known. */
function shareOf(topic: Topic, rate: number | null): number | null {
  return topic.brokers.length > 1 ? null : rate;
}

/** One line for all topics between the same two. */
function merged(edges: readonly MapEdge[]): MapEdge[] {
  const found = new Map<string, MapEdge>();
  for (const one of edges) {
    const before = found.get(one.id);
    found.set(one.id, before === undefined ? one : together(before, one));
  }
  return [...found.values()];
}

function together(left: MapEdge, right: MapEdge): MapEdge {
  return {
    ...left,
    topics: [...left.topics, ...right.topics],
    rate: left.rate === null || right.rate === null ? null : left.rate + right.rate,
    isLagging: left.isLagging || right.isLagging,
  };
}

/**
 * A node and everything that its messages pass, to the left and to the right: what stays bright when it is chosen.
 * Topic by topic: two that share a broker have nothing else to do with each other.
 */
export function joinedTo(id: string, edges: readonly MapEdge[]): ReadonlySet<string> {
  const joined = new Set([id]);
  const touching = edges.filter((one) => one.from === id || one.to === id);
  for (const topic of new Set(touching.flatMap((one) => one.topics))) {
    const own = edges.filter((one) => one.topics.includes(topic));
    for (const found of [reach(id, own, "from", "to"), reach(id, own, "to", "from")]) {
      for (const one of found) joined.add(one);
    }
  }
  return joined;
}

function reach(
  id: string,
  edges: readonly MapEdge[],
  here: "from" | "to",
  there: "from" | "to",
): ReadonlySet<string> {
  const found = new Set([id]);
  let reached = [id];
  while (reached.length > 0) {
    const next = edges.filter((one) => reached.includes(one[here])).map((one) => one[there]);
    reached = [...new Set(next)].filter((one) => !found.has(one));
    for (const one of reached) found.add(one);
  }
  return found;
}
