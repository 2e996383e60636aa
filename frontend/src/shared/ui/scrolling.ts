/** Tables that scroll sideways must be reachable by keyboard: `<Table.ScrollContainer minWidth={…} scrollAreaProps={REACHABLE}>`. */
export const REACHABLE = { viewportProps: { tabIndex: 0 } } as const;
