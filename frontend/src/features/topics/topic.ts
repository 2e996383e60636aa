/** What the topic screens know about topics. Pure. */
import type { components } from "@/types/api.gen";

export type TopicRow = components["schemas"]["TopicRow"];
export type Topic = components["schemas"]["Topic"];
export type Queue = components["schemas"]["Queue"];
export type NewTopic = components["schemas"]["NewTopicRequest"];

const READ = 4;
const WRITE = 2;

export function permWord(perm: number): "rw" | "r" | "w" | "none" {
  const may = perm & (READ | WRITE);
  return may === (READ | WRITE) ? "rw" : may === READ ? "r" : may === WRITE ? "w" : "none";
}

/** More than this many times the mean of all queues is worth a word. */
const SKEWED = 4;
const FEW = 1_000n;

/** The queue that holds far more than the others do, and how many times the mean. */
export function skewOf(queues: readonly Queue[]): { queue: Queue; ratio: number } | null {
  const counts = queues.map((queue) => BigInt(queue.messages));
  const sum = counts.reduce((total, count) => total + count, 0n);
  if (queues.length < 2 || sum < FEW) return null;
  let at = 0;
  counts.forEach((count, number) => {
    if (count > (counts[at] ?? 0n)) at = number;
  });
  const queue = queues[at];
  const ratio = Number(((counts[at] ?? 0n) * BigInt(queues.length) * 10n) / sum) / 10;
  return queue && ratio >= SKEWED ? { queue, ratio } : null;
}

/** Parts of the whole, 0 to 1; a picture, so rounding is fine. */
export function shareOf(count: string, largest: bigint): number {
  return largest === 0n ? 0 : Number((BigInt(count) * 1000n) / largest) / 1000;
}
