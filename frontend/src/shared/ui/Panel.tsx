/** A part of a screen with its own heading. */
import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title?: string;
  /** At the right of the heading: an age, a button. */
  aside?: ReactNode;
  children: ReactNode;
  /** Without space inside: tables reach the border. */
  flush?: boolean;
}

export function Panel({ title, aside, children, flush = false }: Props) {
  return (
    <Box component="section" className="sb-panel" aria-label={title}>
      {(title || aside) && (
        <Group justify="space-between" px="md" pt="sm" pb={flush ? "sm" : 0} gap="sm">
          {title && <Title order={2}>{title}</Title>}
          {aside}
        </Group>
      )}
      <Box p={flush ? 0 : "md"}>{children}</Box>
    </Box>
  );
}
