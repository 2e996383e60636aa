/** What is not known: said as such, with why. Never 0, never -1, never a dash. */
import { useShared } from "@/shared/texts/shared";

export function Unknown({ why }: { why?: string }) {
  const t = useShared();
  return (
    <span className="sb-unknown" title={why ?? t("unknown.why")}>
      {t("unknown.word")}
    </span>
  );
}
