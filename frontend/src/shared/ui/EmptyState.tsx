/** Where there is nothing: what could be here, and the way to it. */
import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon, title, children, action }: Props) {
  return (
    <Stack align="center" gap={6} py={48} px="md" ta="center">
      {icon && (
        <Text c="dimmed" component="span" aria-hidden style={{ lineHeight: 0 }}>
          {icon}
        </Text>
      )}
      <Text fw={600}>{title}</Text>
      {children && (
        <Text c="dimmed" size="sm" maw={460} component="div">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}
