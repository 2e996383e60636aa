/** How far a search looked, and going on: partial is never shown as complete. */
import { Button, List, Text } from "@mantine/core";
import { IconPlayerTrackNext } from "@tabler/icons-react";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { components } from "@/types/api.gen";
import classes from "./message.module.css";
import { useTexts } from "./texts";

type Page = Pick<
  components["schemas"]["Page"],
  "scanned" | "about" | "stopped" | "is_complete" | "problems" | "withheld" | "continue"
>;

export function ScanNote({
  page,
  isFetching,
  onContinue,
}: {
  page: Page;
  isFetching: boolean;
  onContinue: () => void;
}) {
  const t = useTexts();
  const locale = useLocale();
  const looked =
    page.scanned === null
      ? t("scan.index")
      : t("scan.scanned", {
          scanned: formatCount(page.scanned, locale),
          about: formatCount(page.about ?? 0, locale),
        });
  return (
    <div className={classes.note} role="status">
      <StateBadge
        tone={page.is_complete ? "ok" : page.problems.length > 0 ? "warn" : "info"}
        label={t(page.is_complete ? "scan.complete" : "scan.partial")}
      />
      <span>
        {looked}
        {" · "}
        {page.scanned === null && page.continue ? t("scan.more") : t(`scan.${page.stopped}`)}
      </span>
      {page.continue !== null && (
        <Button
          variant="light"
          size="compact-xs"
          leftSection={<IconPlayerTrackNext size={13} />}
          loading={isFetching}
          onClick={onContinue}
          title={t("scan.continueHint")}
        >
          {t("scan.continue")}
        </Button>
      )}
      {page.withheld > 0 && (
        <Text size="sm" c="dimmed">
          {t("scan.withheld", { count: page.withheld })}
        </Text>
      )}
      {page.problems.length > 0 && (
        <List size="sm" c="dimmed" w="100%">
          {page.problems.map((problem) => (
            <List.Item key={problem}>{problem}</List.Item>
          ))}
        </List>
      )}
    </div>
  );
}
