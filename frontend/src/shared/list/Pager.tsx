/** Below a list: which rows these are, the pages beside it, how many rows a page has. */
import { ActionIcon, Group, Select } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { formatCount } from "@/shared/format/numbers";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { PAGE_SIZES } from "@/shared/url/search";
import classes from "./DataTable.module.css";

interface Props {
  page: number;
  size: number;
  count: number | undefined;
  onChange: (changes: { page?: number; size?: number }) => void;
}

export function Pager({ page, size, count, onChange }: Props) {
  const t = useShared();
  const locale = useLocale();
  if (count === undefined) return <div className={classes.pager} />;
  const pages = Math.max(1, Math.ceil(count / size));
  const words = {
    first: formatCount(count === 0 ? 0 : (page - 1) * size + 1, locale),
    last: formatCount(Math.min(count, page * size), locale),
    count: formatCount(count, locale),
  };
  return (
    <div className={classes.pager}>
      <span>{t("table.range", words)}</span>
      <Group gap="xs">
        <Select
          aria-label={t("table.perPage")}
          data={PAGE_SIZES.map(String)}
          value={String(size)}
          onChange={(value) => onChange({ size: Number(value), page: 1 })}
          w={76}
        />
        <ActionIcon
          aria-label={t("table.previous")}
          disabled={page <= 1}
          onClick={() => onChange({ page: page - 1 })}
        >
          <IconChevronLeft size={16} />
        </ActionIcon>
        <ActionIcon
          aria-label={t("table.next")}
          disabled={page >= pages}
          onClick={() => onChange({ page: page + 1 })}
        >
          <IconChevronRight size={16} />
        </ActionIcon>
      </Group>
    </div>
  );
}
