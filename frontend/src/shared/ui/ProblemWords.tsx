/**
 * What the API said, for whoever reads: on Chinese pages first what its code means, then the API's own English words,
 * marked as such (screen readers then speak them as English).
 */
import type { ReactNode } from "react";
import type { FieldError, ProblemError } from "@/shared/api/problem";
import { useLanguage } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { zhProblems } from "@/shared/texts/zh_problems";

interface Props {
  code: string;
  detail: string;
}

export function ProblemWords({ code, detail }: Props) {
  const t = useShared();
  if (useLanguage() === "en") return <>{detail}</>;
  const meaning = zhProblems[code];
  const original = <span lang="en">{detail}</span>;
  if (meaning === undefined) return original;
  return (
    <>
      {meaning}
      <span style={{ display: "block", color: "var(--mantine-color-dimmed)", fontSize: "0.92em" }}>
        {t("problem.original")} {original}
      </span>
    </>
  );
}

/** For the `error` of a field: what is wrong with it, if anything. */
export function fieldError(problem: ProblemError | null | undefined, field: string): ReactNode {
  const found: FieldError | undefined = problem?.errors.find((error) => error.field === field);
  return found && <ProblemWords code={found.code} detail={found.detail} />;
}
