/** What is not known: said as such, with why. Never 0, never -1, never a dash. */
import { Tooltip } from "@mantine/core";
import { useShared } from "@/shared/texts/shared";

export function Unknown({ why }: { why?: string }) {
  const t = useShared();
  return (
    <Tooltip label={why ?? t("unknown.why")}>
      <span className="sb-unknown" tabIndex={-1}>
        {t("unknown.word")}
      </span>
    </Tooltip>
  );
}
