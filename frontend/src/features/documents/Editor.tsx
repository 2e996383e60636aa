/** A document as text: planned first, then applied exactly as it was planned. */
import { Anchor, Alert, Button, Group, Modal, Stack, Text, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconListSearch, IconPlayerPlay, IconTemplate } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { formatBytes } from "@/shared/format/bytes";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { TypeName } from "@/shared/ui/Confirm";
import { EmptyState } from "@/shared/ui/EmptyState";
import { TONED } from "@/shared/ui/plan_views";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { countOf, PlanView } from "./PlanView";
import { bytesOf, MAX_BYTES } from "./template";
import { useTexts } from "./texts";

interface Props {
  text: string;
  onChange: (text: string) => void;
  template: string;
}

export function Editor({ text, onChange, template }: Props) {
  const t = useTexts();
  const locale = useLocale();
  const [isApplying, applying] = useDisclosure(false);
  const [planned, setPlanned] = useState("");
  const plan = useMutation({
    mutationFn: (document: string) => post("/documents/plan/", { yaml: document }),
    onMutate: setPlanned,
  });
  const isCurrent = plan.data !== undefined && planned === text;
  const isTooLarge = bytesOf(text) > MAX_BYTES;
  return (
    <Stack gap="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          plan.mutate(text);
        }}
      >
        <Textarea
          label={t("editor.label")}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
          autosize
          minRows={12}
          maxRows={28}
          spellCheck={false}
          error={isTooLarge ? t("editor.bytes", { size: formatBytes(bytesOf(text), locale) }) : undefined}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
        />
        <Group gap="xs" mt="xs">
          <Button
            type="submit"
            leftSection={<IconListSearch size={14} />}
            disabled={text.trim() === "" || isTooLarge}
            loading={plan.isPending}
          >
            {t("editor.plan")}
          </Button>
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            disabled={!isCurrent || (plan.data !== undefined && countOf(plan.data) === 0)}
            onClick={applying.open}
          >
            {t("editor.apply")}
          </Button>
          {text.trim() === "" && (
            <Button
              variant="default"
              leftSection={<IconTemplate size={14} />}
              onClick={() => onChange(template)}
            >
              {t("editor.template")}
            </Button>
          )}
        </Group>
      </form>
      {plan.isError && <ProblemAlert error={plan.error} />}
      {plan.data && !isCurrent && !plan.isPending && (
        <Alert className="sb-info" styles={TONED}>
          {t("editor.changed")}
        </Alert>
      )}
      {plan.data && (
        <Panel title={t("plan.label")}>
          <PlanView plan={plan.data} />
        </Panel>
      )}
      {!plan.data && !plan.isError && text.trim() === "" && (
        <EmptyState title={t("editor.empty")}>{t("editor.emptyDetail")}</EmptyState>
      )}
      {plan.data && (
        <ApplyDialog
          opened={isApplying}
          onClose={applying.close}
          text={planned}
          name={plan.data.name}
          deletes={plan.data.delete.length > 0}
        >
          <PlanView plan={plan.data} />
        </ApplyDialog>
      )}
    </Stack>
  );
}

interface ApplyProps {
  opened: boolean;
  onClose: () => void;
  text: string;
  name: string;
  deletes: boolean;
  children: React.ReactNode;
}

function ApplyDialog({ opened, onClose, name, ...rest }: ApplyProps) {
  const t = useTexts();
  return (
    <Modal opened={opened} onClose={onClose} title={t("editor.applyTitle", { name })} size="lg">
      <Apply onClose={onClose} name={name} {...rest} />
    </Modal>
  );
}

function Apply({ onClose, text, name, deletes, children }: Omit<ApplyProps, "opened">) {
  const t = useTexts();
  const shared = useShared();
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const act = useMutation({
    mutationFn: () => post("/documents/apply/", { yaml: text }),
    onSuccess: () =>
      refresh(
        client,
        "/documents/",
        "/documents/{name}/",
        "/documents/{name}/drift/",
        "/clusters/{cluster}/operations/",
      ),
  });
  if (act.data) return <Done operations={act.data.operations} onClose={onClose} />;
  return (
    <Stack gap="sm">
      <Text size="sm">{t("editor.applyDetail")}</Text>
      {children}
      {deletes && (
        <>
          <Text size="sm">{t("editor.deletes")}</Text>
          <TypeName name={name} value={typed} onChange={setTyped} />
        </>
      )}
      {act.isError && <ProblemAlert error={act.error} isWrite />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {shared("action.cancel")}
        </Button>
        <Button
          color={deletes ? "red.8" : undefined}
          disabled={deletes && typed !== name}
          loading={act.isPending}
          onClick={() => act.mutate()}
        >
          {t("editor.apply")}
        </Button>
      </Group>
    </Stack>
  );
}

function Done({ operations, onClose }: { operations: string[]; onClose: () => void }) {
  const t = useTexts();
  const shared = useShared();
  return (
    <Stack gap="sm">
      <Alert className="sb-ok" styles={TONED} title={t("applied.title")} role="status">
        {operations.length === 0 && <Text size="sm">{t("applied.nothing")}</Text>}
        {operations.map((id) => (
          <div key={id}>
            <Anchor
              size="sm"
              renderRoot={(props) => <Link to="/operations/$id" params={{ id }} {...props} />}
            >
              {t("applied.follow", { id })}
            </Anchor>
          </div>
        ))}
      </Alert>
      <Group justify="flex-end">
        <Button onClick={onClose}>{shared("action.close")}</Button>
      </Group>
    </Stack>
  );
}
