/** Stands where a screen is not made yet; its area's file in routes/ names the screen instead. */
import { IconTools } from "@tabler/icons-react";
import { EmptyState } from "@/shared/ui/EmptyState";
import { useTexts } from "./texts";

export function Upcoming() {
  const t = useTexts();
  return <EmptyState icon={<IconTools size={28} />} title={t("upcoming")} />;
}
