/** Whether figures move by themselves; calm when they do not. */
import { Tooltip } from "@mantine/core";
import { useLiveState } from "@/shared/live/live";
import type { LiveState } from "@/shared/live/socket";
import { useShared } from "@/shared/texts/shared";
import type { Tone } from "@/shared/ui/StateBadge";
import classes from "./Shell.module.css";

const TONES: Record<LiveState, Tone> = {
  live: "ok",
  connecting: "quiet",
  polling: "warn",
  paused: "quiet",
  off: "quiet",
};

export function LiveBadge() {
  const t = useShared();
  const state = useLiveState();
  return (
    <Tooltip label={t(`live.${state}Title`)}>
      <span className={`${classes.live} sb-${TONES[state]}`} role="status" data-live={state}>
        <i />
        <span className={classes.liveWord}>{t(`live.${state}`)}</span>
      </span>
    </Tooltip>
  );
}
