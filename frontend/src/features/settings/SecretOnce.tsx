/** A secret that is shown once: it must be copied before this is closed. */
import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useShared } from "@/shared/texts/shared";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { TONED } from "@/shared/ui/plan_views";

interface Props {
  /** Null: there is none to show. */
  secret: string | null;
  title: string;
  lead: string;
  children?: ReactNode;
  onClose: () => void;
}

export function SecretOnce({ secret, title, lead, children, onClose }: Props) {
  const t = useShared();
  return (
    <Modal
      opened={secret !== null}
      onClose={onClose}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack gap="sm">
        <Alert className="sb-warn" styles={TONED} icon={<IconKey size={18} />}>
          {lead}
        </Alert>
        <CodeBlock code={secret ?? ""} label={title} wrap />
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t("action.close")}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
