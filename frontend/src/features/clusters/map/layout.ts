/** Where nodes stand: four columns, each centred beside the tallest one. Pure, so that live figures move nothing. */
import type { Column, MapGraph, MapNode } from "./graph";

export const WIDTHS: Record<Column, number> = { producers: 172, topics: 236, brokers: 210, groups: 216 };
export const COLUMNS: readonly Column[] = ["producers", "topics", "brokers", "groups"];
const SPACE = 104;
const GAP = 10;
const HEAD = 34;
const LINE = 46;
const MEMBER = 22;

export interface Placed {
  node: MapNode;
  column: Column;
  x: number;
  y: number;
  width: number;
  height: number;
}

export function heightOf(node: MapNode): number {
  if (node.kind === "broker") return 40 + Math.max(1, node.members.length) * MEMBER;
  return node.kind === "more" ? 28 : LINE;
}

export function layOut(graph: MapGraph): {
  placed: Placed[];
  heads: { column: Column; x: number; width: number }[];
  height: number;
} {
  const heights = COLUMNS.map((column) => columnHeight(graph.columns[column]));
  const tallest = Math.max(...heights, LINE);
  const placed: Placed[] = [];
  const heads: { column: Column; x: number; width: number }[] = [];
  let x = 0;
  COLUMNS.forEach((column, at) => {
    const width = WIDTHS[column];
    heads.push({ column, x, width });
    let y = HEAD + (tallest - (heights[at] ?? 0)) / 2;
    for (const node of graph.columns[column]) {
      const height = heightOf(node);
      placed.push({ node, column, x, y, width, height });
      y += height + GAP;
    }
    x += width + SPACE;
  });
  return { placed, heads, height: HEAD + tallest };
}

function columnHeight(nodes: readonly MapNode[]): number {
  return nodes.reduce((sum, node) => sum + heightOf(node) + GAP, -GAP);
}

/** Busy lines are thicker: 1 to 5 pixels over five powers of ten. */
export function strokeOf(rate: number | null): number {
  return rate === null || rate <= 0 ? 1 : Math.min(5, 1.4 + Math.log10(1 + rate));
}
