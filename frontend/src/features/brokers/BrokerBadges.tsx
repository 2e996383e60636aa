/** How a broker stands, in badges: its state, its role, whether it is in sync, drift. */
import { Tooltip } from "@mantine/core";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { StateBadge, Tag } from "@/shared/ui/StateBadge";
import { Unknown } from "@/shared/ui/Unknown";
import type { Broker } from "./broker_data";
import { breaksPromise, retentionOf } from "./broker_health";
import { haOf, type Standing, stateOf, type StateName, TONES } from "./broker_state";
import { useTexts } from "./texts";

const EXPLAINED = new Set<StateName>(["silent", "crashed", "crash_loop", "down", "unknown", "stopped"]);

export function BrokerState({ broker }: { broker: Broker }) {
  const t = useTexts();
  const locale = useLocale();
  const state = stateOf(broker);
  const { process, live } = broker;
  const why = [
    EXPLAINED.has(state) ? t(`why.${state}` as "why.down") : "",
    state === "trouble" ? (haOf(live).trouble ?? "") : "",
    state !== "running" && live && !live.is_reachable ? live.error : "",
    state !== "running" && process?.last_exit ? t("why.lastExit", { text: process.last_exit }) : "",
    process?.next_start_at ? t("why.nextStart", { time: formatTime(process.next_start_at, locale) }) : "",
  ].filter(Boolean);
  return (
    <StateBadge
      state={state}
      tone={TONES[state]}
      label={t(`state.${state}`)}
      why={why.join(" ") || undefined}
    />
  );
}

export function RoleTag({ broker, standing }: { broker: Broker; standing: Standing }) {
  const t = useTexts();
  const role = standing.isMaster ? "master" : broker.live?.role || (broker.process ? "slave" : "");
  if (role !== "master" && role !== "slave") return <Tag>{t("role.unknown")}</Tag>;
  return <Tag tone={role === "master" ? "info" : "quiet"}>{t(`role.${role}`)}</Tag>;
}

export function Marks({ broker }: { broker: Broker }) {
  const t = useTexts();
  return (
    <>
      {broker.process?.is_drifted && (
        <Tooltip label={t("driftedWhy")}>
          <span>
            <Tag tone="warn">{t("drifted")}</Tag>
          </span>
        </Tooltip>
      )}
      {permissionOf(broker) === "readOnly" && <Tag tone="warn">{t("writes.readOnly")}</Tag>}
    </>
  );
}

/** The worst first: unexpired messages were deleted, or may be when the disk is full. `short`: in a list. */
export function KeptMark({ live, short = false }: { live: Broker["live"]; short?: boolean }) {
  const t = useTexts();
  const retention = retentionOf(live);
  if (retention === null) return short ? <Unknown why={t("kept.notReported")} /> : null;
  if (retention.deletedUnexpired) {
    return (
      <Tooltip label={t("kept.deletedMarkWhy")}>
        <span>
          <Tag tone="bad">{t(short ? "kept.deletedShort" : "kept.deletedMark")}</Tag>
        </span>
      </Tooltip>
    );
  }
  if (!retention.mayDeleteUnexpired) return short ? <>{t("kept.refusesShort")}</> : null;
  const isBroken = breaksPromise(live);
  return (
    <Tooltip label={t(isBroken ? "kept.mayDeletePromise" : "kept.mayDeleteWhy")} multiline maw={320}>
      <span>
        <Tag tone={isBroken ? "bad" : "quiet"}>{t(short ? "kept.mayDeleteShort" : "kept.mark")}</Tag>
      </span>
    </Tooltip>
  );
}

/** RocketMQ's bits: 4 read, 2 write. Null: not known, or a slave, which takes none anyway. */
export function permissionOf(broker: Broker): "writable" | "readOnly" | null {
  const { permission } = haOf(broker.live);
  if (permission === undefined || broker.live?.role !== "master") return null;
  return (permission & 2) !== 0 ? "writable" : "readOnly";
}

interface SyncProps {
  standing: Standing;
  /** How many members the group has. */
  size: number;
  inSync?: readonly number[];
  min?: number;
}

/** Of a master how many are in sync with it; of a slave whether it is. */
export function InSync({ standing, size, inSync, min }: SyncProps) {
  const t = useTexts();
  if (size === 1) {
    return (
      <Tooltip label={t("inSync.aloneWhy")}>
        <span className="sb-stale">{t("inSync.alone")}</span>
      </Tooltip>
    );
  }
  if (standing.isInSync === null) return <Unknown />;
  if (standing.isMaster && inSync) {
    const words = { count: inSync.length, all: size, min: min ?? 1 };
    const tone = inSync.length < (min ?? 1) ? "bad" : inSync.length < size ? "warn" : "ok";
    return <StateBadge tone={tone} label={t("inSync.of", words)} why={t("inSync.ofWhy", words)} />;
  }
  return (
    <StateBadge
      tone={standing.isInSync ? "ok" : "warn"}
      label={t(standing.isInSync ? "inSync.yes" : "inSync.no")}
    />
  );
}
