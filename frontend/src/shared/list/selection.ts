/** Which rows are chosen: keys, kept by the screen. */
export interface Selection {
  keys: ReadonlySet<string>;
  onChange: (keys: ReadonlySet<string>) => void;
}

export function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** All of these, or none of them if all were. */
export function allToggled(keys: ReadonlySet<string>, page: readonly string[]): ReadonlySet<string> {
  const next = new Set(keys);
  const isAll = page.every((key) => keys.has(key));
  for (const key of page) {
    if (isAll) next.delete(key);
    else next.add(key);
  }
  return next;
}
