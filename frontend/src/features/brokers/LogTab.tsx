/** The last lines that a broker wrote, read by its host's agent; followed while somebody looks. */
import { Alert, Button, Select, SegmentedControl, Skeleton, Switch, Text } from "@mantine/core";
import { IconLock, IconRefresh } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useGet } from "@/shared/api/queries";
import { formatBytes } from "@/shared/format/bytes";
import { SearchBox, Toolbar } from "@/shared/list/Toolbar";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { PlainText } from "@/shared/ui/TextBody";
import classes from "./Brokers.module.css";
import { useTexts } from "./texts";

const FOLLOW_MS = 3_000;
const LINES = ["100", "200", "500", "2000"] as const;

interface Props {
  cluster: string;
  process: string;
  mayRead: boolean;
  kind: "log" | "out";
  lines: (typeof LINES)[number];
  search: string;
  onChange: (changes: { kind?: "log" | "out"; lines?: (typeof LINES)[number]; search?: string }) => void;
}

export function LogTab(props: Props) {
  const t = useTexts();
  if (!props.mayRead) {
    return (
      <EmptyState icon={<IconLock size={28} />} title={t("log.label", { name: props.process })}>
        {t("log.noRight")}
      </EmptyState>
    );
  }
  return <Log {...props} />;
}

function Log({ cluster, process, kind, lines, search, onChange }: Props) {
  const t = useTexts();
  const shared = useShared();
  const locale = useLocale();
  const [isFollowing, setFollowing] = useState(false);
  const read = useGet(
    "/clusters/{cluster}/processes/{process}/log/",
    { params: { cluster, process }, query: { kind, lines: Number(lines) } },
    { refetchInterval: isFollowing ? FOLLOW_MS : false, keepPrevious: true },
  );
  const shown = useMemo(() => {
    const wanted = search.toLowerCase();
    return (read.data?.lines ?? []).filter((line) => wanted === "" || line.toLowerCase().includes(wanted));
  }, [read.data, search]);
  return (
    <>
      <Toolbar>
        <SearchBox
          value={search}
          onChange={(text) => onChange({ search: text })}
          placeholder={t("log.search")}
        />
        <SegmentedControl
          aria-label={t("log.kind")}
          value={kind}
          onChange={(value) => onChange({ kind: value as "log" | "out" })}
          data={[
            { value: "log", label: t("log.log") },
            { value: "out", label: t("log.out") },
          ]}
        />
        <Select
          aria-label={t("log.lines")}
          value={lines}
          onChange={(value) => onChange({ lines: (value ?? "200") as (typeof LINES)[number] })}
          data={LINES.map((one) => ({ value: one, label: `${one} ${t("log.lines")}` }))}
          w={120}
        />
        <Switch
          label={t("log.follow")}
          checked={isFollowing}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
        <Button
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={read.isFetching && !isFollowing}
          onClick={() => void read.refetch()}
        >
          {t("log.read")}
        </Button>
        {read.data && (
          <Text size="xs" c="dimmed">
            {t("log.matches", { shown: shown.length, all: read.data.lines.length })}
          </Text>
        )}
      </Toolbar>
      {read.isError && <ProblemAlert error={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <Skeleton height={320} role="status" aria-label={shared("loading")} />}
      {read.data?.is_cut && (
        <Alert className="sb-info" styles={TONED} mb="xs" py={6}>
          {t("log.cut", { size: formatBytes(read.data.size_bytes, locale) })}
        </Alert>
      )}
      {read.data && (
        <Lines lines={shown} label={t("log.label", { name: process })} isFollowing={isFollowing} />
      )}
    </>
  );
}

function Lines({
  lines,
  label,
  isFollowing,
}: {
  lines: readonly string[];
  label: string;
  isFollowing: boolean;
}) {
  const t = useTexts();
  const box = useRef<HTMLPreElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFollowing && !isFirst.current) return;
    isFirst.current = false;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [lines, isFollowing]);
  if (lines.length === 0) return <EmptyState title={t("log.empty")} />;
  return (
    <pre className={classes.log} ref={box} tabIndex={0} role="log" aria-label={label}>
      {lines.map((line, at) => (
        <span key={at} className={levelOf(line)}>
          <PlainText text={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Trouble stands out; the words are those of Python's and Java's logs. */
function levelOf(line: string): string | undefined {
  if (/\b(ERROR|CRITICAL|FATAL|Traceback)\b/.test(line)) return classes.bad;
  return /\bWARN(ING)?\b/.test(line) ? classes.warn : undefined;
}
