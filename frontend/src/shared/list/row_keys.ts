/** Which row a key leads to; null: the key is not ours. */
const PAGE = 15;

export function nextRow(key: string, at: number, count: number): number | null {
  if (count === 0) return null;
  const moves: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + PAGE,
    PageUp: at - PAGE,
    Home: 0,
    End: count - 1,
  };
  const to = moves[key];
  return to === undefined ? null : Math.max(0, Math.min(count - 1, to));
}
