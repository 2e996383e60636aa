/** Walks the chain when somebody asks for it, and says what it found. */
import { Alert, Button, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconLink } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { get } from "@/shared/api/client";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

const WALK_MS = 120_000;

export function Verify() {
  const t = useTexts();
  const [isOpen, dialog] = useDisclosure(false);
  const walk = useMutation({
    mutationFn: () => get("/audit/verify/", { timeoutMs: WALK_MS }),
    onSettled: dialog.open,
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconLink size={14} />}
        loading={walk.isPending}
        onClick={() => walk.mutate()}
      >
        {t("verify.button")}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={t("verify.button")}>
        {walk.data && <Found verdict={walk.data} />}
        {walk.isError && <ProblemAlert error={walk.error} onRetry={() => walk.mutate()} />}
      </Modal>
    </>
  );
}

function Found({ verdict }: { verdict: components["schemas"]["Verdict"] }) {
  const t = useTexts();
  const locale = useLocale();
  const count = formatCount(verdict.checked, locale);
  return (
    <Alert
      role="status"
      className={verdict.is_intact ? "sb-ok" : "sb-bad"}
      styles={TONED}
      title={verdict.is_intact ? t("verify.intact") : t("verify.broken", { id: verdict.broken_at ?? "" })}
    >
      <Text size="sm">
        {verdict.is_intact
          ? t("verify.intactDetail", { count })
          : t("verify.brokenDetail", { count, reason: verdict.reason })}
      </Text>
    </Alert>
  );
}
