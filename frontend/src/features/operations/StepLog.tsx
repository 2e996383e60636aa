/** What steps wrote down, as they write it. Follows the end unless somebody scrolls up. */
import { Anchor, Switch } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import { formatExactTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { PlainText } from "@/shared/ui/TextBody";
import type { Line, Step } from "./operation_data";
import classes from "./Operation.module.css";
import { useTexts } from "./texts";

interface Props {
  lines: readonly Line[] | undefined;
  error: unknown;
  steps: readonly Step[];
  chosen: Step | undefined;
  isRunning: boolean;
  onClear: () => void;
}

export function StepLog({ lines, error, steps, chosen, isRunning, onClear }: Props) {
  const t = useTexts();
  const [isFollowing, setFollowing] = useState(true);
  const shown = useMemo(
    () => (chosen ? lines?.filter((line) => line.step === chosen.id) : lines) ?? [],
    [lines, chosen],
  );
  const names = useMemo(() => new Map(steps.map((step) => [step.id, step.summary])), [steps]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isFollowing && isRunning) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [shown.length, isFollowing, isRunning]);
  const title = chosen ? t("one.logOf", { step: chosen.summary }) : t("one.log");
  return (
    <Panel
      title={title}
      flush
      aside={
        <>
          {chosen && (
            <Anchor component="button" size="xs" onClick={onClear}>
              {t("one.allSteps")}
            </Anchor>
          )}
          {isRunning && (
            <Switch
              size="xs"
              label={t("one.follow")}
              checked={isFollowing}
              onChange={(event) => setFollowing(event.currentTarget.checked)}
            />
          )}
        </>
      }
    >
      {error !== null && error !== undefined && <ProblemAlert error={error} />}
      <div className={classes.log} ref={box} tabIndex={0} role="log" aria-label={title}>
        {shown.length === 0 && <span className={classes.noLines}>{t("one.noLines")}</span>}
        {shown.map((line) => (
          <LogLine key={line.id} line={line} name={chosen ? undefined : names.get(line.step)} />
        ))}
      </div>
    </Panel>
  );
}

function LogLine({ line, name }: { line: Line; name: string | undefined }) {
  const locale = useLocale();
  const time = formatExactTime(line.at, locale).split(/[ ,]+/).pop();
  return (
    <div className={classes.line}>
      <time dateTime={line.at}>{time}</time>
      {name && <span className={classes.of}>{name}</span>}
      <span>
        <PlainText text={line.text} />
      </span>
    </div>
  );
}
