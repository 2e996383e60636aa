/** What scrolls must be reachable by keyboard: `<ScrollArea.Autosize {...REACHABLE}>`. Tables are by the theme. */
export const REACHABLE = { viewportProps: { tabIndex: 0 } } as const;
