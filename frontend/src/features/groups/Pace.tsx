/** When nothing will be unread: in so long, never, already, or not known. */
import { Tooltip } from "@mantine/core";
import { Span } from "@/shared/ui/Figure";
import { Tag } from "@/shared/ui/StateBadge";
import { type Pace as PaceFigures, paceOf } from "./group";
import { useTexts } from "./texts";

export function Pace({ figures }: { figures: PaceFigures }) {
  const t = useTexts();
  const pace = paceOf(figures);
  if (pace === "clear") return <Tag tone="ok">{t("clear")}</Tag>;
  if (pace === "never") {
    return (
      <Tooltip label={t("why.never")}>
        <span>
          <Tag tone="bad">{t("never")}</Tag>
        </span>
      </Tooltip>
    );
  }
  return <Span seconds={pace === "unknown" ? null : pace} why={t("why.eta")} />;
}
