/** Asks before something is destroyed: by its name, typed. */
import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useShared } from "@/shared/texts/shared";
import { ProblemAlert } from "./ProblemAlert";

interface Props {
  opened: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  /** What must be typed; without one a click is enough. */
  name?: string;
  actionLabel: string;
  isDanger?: boolean;
  /** Throws what is shown. */
  onConfirm: () => Promise<unknown>;
}

export function Confirm({ opened, onClose, title, ...rest }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <Question onClose={onClose} {...rest} />
    </Modal>
  );
}

function Question({
  onClose,
  children,
  name,
  actionLabel,
  isDanger = true,
  onConfirm,
}: Omit<Props, "opened" | "title">) {
  const t = useShared();
  const [typed, setTyped] = useState("");
  const act = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  const isReady = name === undefined || typed === name;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) act.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        {name !== undefined && <TypeName name={name} value={typed} onChange={setTyped} />}
        {act.isError && <ProblemAlert error={act.error} isWrite />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            color={isDanger ? "red.8" : undefined}
            loading={act.isPending}
            disabled={!isReady}
          >
            {actionLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

export function TypeName({
  name,
  value,
  onChange,
}: {
  name: string;
  value: string;
  onChange: (typed: string) => void;
}) {
  const t = useShared();
  return (
    <TextInput
      label={t("confirm.typeName", { name })}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
      data-autofocus
      error={value !== "" && !name.startsWith(value) ? t("confirm.mismatch") : undefined}
    />
  );
}
