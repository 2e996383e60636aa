/** What went wrong and what to do about it: calm, in the words of the status, with what the console said. */
import { Alert, Button, Group, List, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { asProblem, OFFLINE, type ProblemError, TIMEOUT } from "@/shared/api/problem";
import { formatDuration } from "@/shared/format/durations";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { ProblemWords } from "./ProblemWords";

/** Nothing is broken: somebody may not, came late, or asked for what is not there. */
const CALM: ReadonlySet<number> = new Set([403, 404, 409]);

/** The console's own disk or database: its sentence says what to do. */
const STORAGE: ReadonlySet<string> = new Set([
  "storage_full",
  "storage_read_only",
  "storage_failed",
  "database_away",
]);

interface Props {
  error: unknown;
  /** Of a write: it may have been done although no answer came. */
  isWrite?: boolean;
  onRetry?: () => void;
}

export function ProblemAlert({ error, isWrite = false, onRetry }: Props) {
  const t = useShared();
  const problem = asProblem(error);
  const { title, advice } = useAdvice(problem, isWrite);
  const isCalm = CALM.has(problem.status) || problem.code === OFFLINE;
  const shown = useRef<HTMLDivElement>(null);
  // Below a long form it would come into being out of sight.
  useEffect(() => {
    void shown.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  return (
    <Alert
      ref={shown}
      role="alert"
      className={isCalm ? "sb-info" : "sb-bad"}
      icon={isCalm ? <IconInfoCircle size={18} /> : <IconAlertTriangle size={18} />}
      title={title}
      styles={{
        root: { background: "var(--sb-tone-soft)", border: "1px solid var(--sb-line)" },
        title: { color: "var(--sb-tone)" },
        icon: { color: "var(--sb-tone)" },
        message: { color: "var(--mantine-color-text)" },
      }}
    >
      <Said problem={problem} />
      {advice && (
        <Text size="sm" mt={2}>
          {advice}
        </Text>
      )}
      {onRetry && (
        <Group mt="xs">
          <Button variant="default" onClick={onRetry}>
            {t("action.retry")}
          </Button>
        </Group>
      )}
    </Alert>
  );
}

function Said({ problem }: { problem: ProblemError }) {
  if (problem.status === 0 && problem.code !== "page") return null;
  // A refusal that names one field says the same twice.
  const errors = problem.errors.filter((error) => error.detail !== problem.detail);
  return (
    <>
      <Text size="sm" component="div">
        <ProblemWords code={problem.code} detail={problem.detail} />
      </Text>
      {errors.length > 0 && (
        <List size="sm" mt={4}>
          {errors.map((error) => (
            <List.Item key={`${error.field}/${error.detail}`}>
              {error.field ? <span className="sb-mono">{error.field}</span> : null}{" "}
              <ProblemWords code={error.code} detail={error.detail} />
            </List.Item>
          ))}
        </List>
      )}
    </>
  );
}

function useAdvice(problem: ProblemError, isWrite: boolean): { title: string; advice?: string } {
  const t = useShared();
  const locale = useLocale();
  if (problem.code === OFFLINE) return { title: t("problem.offline"), advice: t("problem.offlineDetail") };
  if (problem.code === TIMEOUT || problem.status === 504) {
    return {
      title: t("problem.timeout"),
      advice: t(isWrite ? "problem.timeoutWrite" : "problem.timeoutRead"),
    };
  }
  if (STORAGE.has(problem.code)) return { title: t("problem.storage") };
  if (problem.code === "page") return { title: t("problem.page"), advice: t("problem.pageDetail") };
  switch (problem.status) {
    case 403:
      return { title: t("problem.forbidden"), advice: t("problem.forbiddenDetail") };
    case 404:
      return { title: t("problem.notFound"), advice: t("problem.notFoundDetail") };
    case 409:
      return { title: t("problem.conflict"), advice: t("problem.conflictDetail") };
    case 429: {
      const age = formatDuration(problem.retryAfterS ?? 60, locale);
      return { title: t("problem.tooMany"), advice: t("problem.tooManyDetail", { age }) };
    }
    case 500:
      return { title: t("problem.server"), advice: t("problem.serverDetail") };
    case 502:
    case 503:
      return { title: t("problem.broker") };
    default:
      return { title: t("problem.title") };
  }
}
