/** A state by colour, shape and word: never by colour alone. */
import { Tooltip } from "@mantine/core";
import { useShared } from "@/shared/texts/shared";
import classes from "./StateBadge.module.css";

export type Tone = "ok" | "warn" | "bad" | "info" | "quiet";

const TONES: Record<string, Tone> = {
  ok: "ok",
  running: "ok",
  done: "ok",
  succeeded: "ok",
  resolved: "ok",
  degraded: "warn",
  awaiting_approval: "warn",
  rolling_back: "warn",
  paused: "warn",
  down: "bad",
  failed: "bad",
  firing: "bad",
  starting: "info",
  pending: "quiet",
  stopped: "quiet",
  cancelled: "quiet",
  rolled_back: "quiet",
  unknown: "quiet",
};

interface Props {
  /** A state of the API; its word and tone are known for the common ones. */
  state?: keyof typeof TONES | string;
  tone?: Tone;
  /** Instead of the common word. */
  label?: string;
  why?: string;
}

export function toneOf(state: string): Tone {
  return TONES[state] ?? "quiet";
}

export function StateBadge({ state = "", tone, label, why }: Props) {
  const t = useShared();
  const word = label ?? (state in TONES ? t(`state.${state}` as "state.ok") : state);
  const badge = (
    <span className={`${classes.badge} sb-${tone ?? toneOf(state)}`} data-state={state}>
      <i className={classes.mark} />
      {word}
    </span>
  );
  return why ? <Tooltip label={why}>{badge}</Tooltip> : badge;
}

/** A word without a mark: kinds, labels, roles. */
export function Tag({ children, tone = "quiet" }: { children: React.ReactNode; tone?: Tone }) {
  return <span className={`${classes.tag} sb-${tone}`}>{children}</span>;
}
