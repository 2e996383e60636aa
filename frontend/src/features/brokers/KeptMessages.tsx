/** How long a broker keeps messages and what a full disk does to them; what was deleted or damaged; its certificate. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { formatBytes } from "@/shared/format/bytes";
import { formatDuration } from "@/shared/format/durations";
import { numberFormat } from "@/shared/format/formatters";
import { formatRatio } from "@/shared/format/numbers";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { KeyValue } from "@/shared/ui/KeyValue";
import { Panel } from "@/shared/ui/Panel";
import { StateBadge, type Tone } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import { useNow } from "@/shared/ui/use_now";
import type { Broker } from "./broker_data";
import {
  breaksPromise,
  certificateEnd,
  certificateTone,
  damageOf,
  type DeletedUnexpired,
  retentionOf,
} from "./broker_health";
import { useTexts } from "./texts";

type Live = Broker["live"];

export function KeptMessages({ broker: { live } }: { broker: Broker }) {
  const t = useTexts();
  const locale = useLocale();
  const retention = retentionOf(live);
  const missing = <Unknown why={t("kept.notReported")} />;
  return (
    <Panel title={t("kept.title")}>
      <KeyValue
        items={[
          [
            t("kept.reserved"),
            retention === null ? missing : formatDuration(retention.reservedHours * 3600, locale),
          ],
          [t("kept.fullDisk"), retention === null ? missing : <FullDisk key="full" live={live} />],
          [
            t("kept.deleted"),
            retention === null ? missing : <Deleted key="deleted" lost={retention.deletedUnexpired} />,
          ],
          [t("kept.damage"), <Damaged key="damage" live={live} />],
          [t("kept.certificate"), <Certificate key="certificate" live={live} />],
        ]}
      />
    </Panel>
  );
}

function FullDisk({ live }: { live: Live }) {
  const t = useTexts();
  const locale = useLocale();
  const retention = retentionOf(live);
  if (retention === null) return null;
  const words = {
    force: formatRatio(retention.forceRatio, locale),
    refuse: formatRatio(retention.refuseRatio, locale),
  };
  if (!retention.mayDeleteUnexpired) {
    return (
      <Said tone="ok" label={t("kept.refusesShort")}>
        {t("kept.refuses", words)}
      </Said>
    );
  }
  const isBroken = breaksPromise(live);
  return (
    <Said
      tone={isBroken ? "bad" : "warn"}
      label={t("kept.mayDeleteShort")}
      why={t(isBroken ? "kept.mayDeletePromise" : "kept.mayDeleteWhy")}
    >
      {t("kept.mayDelete", words)}
    </Said>
  );
}

interface SaidProps {
  tone: Tone;
  label: string;
  why?: string;
  children: ReactNode;
}

/** A short badge, and below it what it means: badges do not wrap. */
function Said({ tone, label, why, children }: SaidProps) {
  return (
    <>
      <StateBadge tone={tone} label={label} why={why} />
      <Text size="xs" c="dimmed" mt={2}>
        {children}
      </Text>
    </>
  );
}

function Deleted({ lost }: { lost: DeletedUnexpired | undefined }) {
  const t = useTexts();
  const locale = useLocale();
  if (lost === undefined) return <>{t("kept.deletedNone")}</>;
  const words = {
    size: formatBytes(lost.bytes, locale),
    segments: numberFormat(locale).format(lost.segments),
    time: formatTime(new Date(lost.atMs).toISOString(), locale),
    from: lost.fromOffset,
    to: lost.toOffset,
  };
  return (
    <Said tone="bad" label={t("kept.deletedSome", words)}>
      {t("kept.deletedWhere", words)}
    </Said>
  );
}

function Damaged({ live }: { live: Live }) {
  const t = useTexts();
  const locale = useLocale();
  const damage = damageOf(live);
  if (damage === null) return <Unknown why={t("kept.notReported")} />;
  if (damage === "none") return <>{t("kept.damageNone")}</>;
  const number = numberFormat(locale);
  const counts = { skipped: number.format(damage.skipped), repaired: number.format(damage.repaired) };
  const { last } = damage;
  const where = last && {
    outcome: t(last.outcome === "skipped" ? "kept.skipped" : "kept.repaired"),
    offset: last.offset,
    file: last.file,
    time: formatTime(new Date(last.atMs).toISOString(), locale),
  };
  return (
    <Said tone={damage.skipped > 0 ? "bad" : "warn"} label={t("kept.damageSome", counts)}>
      {where ? t("kept.damageLast", where) : t("kept.damageUnread")}
    </Said>
  );
}

function Certificate({ live }: { live: Live }) {
  const t = useTexts();
  const locale = useLocale();
  const now = useNow();
  const end = certificateEnd(live);
  if (end === null) return <Unknown why={t("kept.notReported")} />;
  if (end === "none") return <>{t("kept.certificateNone")}</>;
  const words = {
    time: formatTime(new Date(end).toISOString(), locale),
    age: formatDuration(Math.abs(Math.round((end - now) / 1000)), locale),
  };
  const label = t(end <= now ? "kept.certificateEnded" : "kept.certificateEnds", words);
  return (
    <Said tone={certificateTone(end, now)} label={label}>
      {words.time}
    </Said>
  );
}
