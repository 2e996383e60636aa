/** Copies a text; also where a page has no clipboard because it came without TLS. */
import { ActionIcon, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { useShared } from "@/shared/texts/shared";

const SHOWN_MS = 1_500;

export function CopyButton({ value, name }: { value: string; name?: string }) {
  const t = useShared();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = window.setTimeout(() => setCopied(false), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [isCopied]);
  const label = isCopied ? t("action.copied") : name ? t("copyName", { name }) : t("action.copy");
  return (
    <Tooltip label={label}>
      <ActionIcon
        size="sm"
        aria-label={label}
        onClick={() => {
          void copyText(value).then(setCopied);
        }}
      >
        {isCopied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

export async function copyText(value: string): Promise<boolean> {
  // TypeScript says that it is always there; on plain HTTP it is not.
  const clipboard = (navigator as { clipboard?: Clipboard }).clipboard;
  if (clipboard && window.isSecureContext) {
    try {
      await clipboard.writeText(value);
      return true;
    } catch {
      // Not permitted: the old way below.
    }
  }
  const area = document.createElement("textarea");
  area.value = value;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}
