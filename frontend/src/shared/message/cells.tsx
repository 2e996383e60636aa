/** Cells of tables of messages: one line each, whatever strangers wrote into keys, tags and bodies. */
import { Tooltip } from "@mantine/core";
import { IconEyeOff } from "@tabler/icons-react";
import type { components } from "@/types/api.gen";
import { formatBytes } from "@/shared/format/bytes";
import { cut, visible } from "@/shared/format/plain_text";
import { formatExactTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { Tag } from "@/shared/ui/StateBadge";
import { PlainText } from "@/shared/ui/TextBody";
import { Unknown } from "@/shared/ui/Unknown";
import { previewOf, type Body } from "./body";
import classes from "./message.module.css";
import { useTexts } from "./texts";

export type Message = components["schemas"]["Message"];
const SHOWN = 120;

export function BodyLine({ body }: { body: Body }) {
  const t = useTexts();
  const locale = useLocale();
  if (body.kind === "masked") {
    return (
      <span className={classes.quiet}>
        <IconEyeOff size={13} aria-hidden style={{ verticalAlign: "-2px" }} /> {t("body.masked")}
      </span>
    );
  }
  if (body.kind === "damaged") return <span className={classes.quiet}>{t("body.damaged")}</span>;
  const preview = previewOf(body);
  if (preview === null) {
    return (
      <span className={classes.quiet}>{t("body.binary", { size: formatBytes(body.size ?? 0, locale) })}</span>
    );
  }
  if (preview === "" && body.size === 0) return <span className={classes.quiet}>{t("body.empty")}</span>;
  return (
    <span className={classes.line}>
      <PlainText text={preview} />
    </span>
  );
}

export function TagCell({ tag }: { tag: string | null }) {
  if (tag === null || tag === "") return null;
  return (
    <span title={cut(visible(tag), 512)}>
      <Tag>
        <PlainText text={cut(tag, SHOWN)} />
      </Tag>
    </span>
  );
}

export function KeysCell({ keys }: { keys: readonly string[] }) {
  return (
    <span className={classes.line} title={cut(visible(keys.join(" ")), 512)}>
      <PlainText text={cut(keys.join(" "), SHOWN)} />
    </span>
  );
}

export function StoredAt({ at }: { at: string | null }) {
  const locale = useLocale();
  if (at === null) return <Unknown />;
  const shown = formatExactTime(at, locale);
  return (
    <time dateTime={at} className="sb-figure" title={shown}>
      {shown}
    </time>
  );
}

export function Place({ message }: { message: Pick<Message, "broker" | "queue" | "queue_offset"> }) {
  const t = useTexts();
  const words = { broker: message.broker, queue: message.queue, offset: message.queue_offset };
  return (
    <Tooltip label={t("place", words)}>
      <span className={classes.place}>{t("place", words)}</span>
    </Tooltip>
  );
}
