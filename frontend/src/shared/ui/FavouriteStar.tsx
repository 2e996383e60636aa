/** Marks a topic or a group as one of mine: shown at once, put back if the console refuses. */
import { ActionIcon } from "@mantine/core";
import { IconStar, IconStarFilled } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useShared } from "@/shared/texts/shared";
import { notifyProblem } from "./notices";

interface Props {
  name: string;
  isOn: boolean;
  /** Tells the console, and everything that shows it. */
  onChange: (isOn: boolean) => Promise<unknown>;
}

export function FavouriteStar({ name, isOn, onChange }: Props) {
  const t = useShared();
  const mark = useMutation({
    mutationFn: onChange,
    onError: (error) => notifyProblem(t("favourite.failed"), error),
  });
  const shown = mark.isPending ? mark.variables : isOn;
  const label = t(shown ? "favourite.remove" : "favourite.add", { name });
  return (
    <ActionIcon
      size="sm"
      title={label}
      aria-label={label}
      aria-pressed={shown}
      onClick={() => mark.mutate(!shown)}
      style={shown ? { color: "var(--sb-warn)" } : undefined}
    >
      {shown ? <IconStarFilled size={14} /> : <IconStar size={14} />}
    </ActionIcon>
  );
}
