/** What a search looks for, in a line of words. */
import { Group } from "@mantine/core";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { Tag } from "@/shared/ui/StateBadge";
import { PlainText } from "@/shared/ui/TextBody";
import { useTexts } from "./texts";

interface Wanted {
  begin: string | null;
  end: string | null;
  key: string | null;
  tag: string | null;
  property: string | null;
  body: string | null;
  sql: string | null;
}

export function LookedFor({ wanted, isLine = false }: { wanted: Wanted; isLine?: boolean }) {
  const t = useTexts();
  const locale = useLocale();
  const parts = (["key", "tag", "property", "body", "sql"] as const).flatMap((name) =>
    wanted[name] === null ? [] : [`${t(`field.${name}`)}: ${wanted[name]}`],
  );
  if (wanted.begin) parts.push(t("jobs.from", { time: formatTime(wanted.begin, locale) }));
  if (wanted.end) parts.push(t("jobs.before", { time: formatTime(wanted.end, locale) }));
  const shown = parts.length > 0 ? parts : [t("jobs.anything")];
  return (
    <Group gap={4} wrap={isLine ? "nowrap" : "wrap"}>
      {shown.map((part) => (
        <Tag key={part}>
          <PlainText text={part} />
        </Tag>
      ))}
    </Group>
  );
}
