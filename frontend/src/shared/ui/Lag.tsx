/** How much a group has left to read: `<Lag of={group} />`. A share that nobody knows is said, never counted as read. */
import { useShared } from "@/shared/texts/shared";
import { Count } from "./Figure";

interface LagProps {
  of: { lag: string | null; lag_is_partial: boolean };
}

export function Lag({ of }: LagProps) {
  const t = useShared();
  const partial = of.lag_is_partial && t("lag.partial");
  return <Count value={of.lag} short why={partial || t("lag.unknown")} atLeast={partial} />;
}
