/** Resetting offsets: where to, what that replays and skips, the reset with its read-back, and undoing it at once. */
import { Button, Group as Row } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import type { components } from "@/types/api.gen";
import type { Group } from "./group";
import { type Kind, NO_RESET, placesOf, resetOf } from "./reset_form";
import { DoneView, PreviewView } from "./reset_views";
import { ResetForm } from "./ResetForm";
import { useTexts } from "./texts";

type Preview = components["schemas"]["Preview"];
type Done = components["schemas"]["Reset"];
const RESETS = "/clusters/{cluster}/groups/{group}/resets/";
const UNDO = "/clusters/{cluster}/groups/{group}/resets/{reset}/undo/";
const GROUP = "/clusters/{cluster}/groups/{group}/";

interface Props {
  cluster: string;
  name: string;
  onClose: () => void;
}

interface ResetProps extends Props {
  group: Group | undefined;
  /** What the form begins with; `latest` without a form skips the backlog. */
  to: Kind;
  onUndo: (reset: Done) => void;
}

export function ResetDialog({ cluster, name, group, to, onClose, onUndo }: ResetProps) {
  const t = useTexts();
  const client = useQueryClient();
  const [fields, setFields] = useState({ ...NO_RESET, to });
  const places = placesOf(group);
  const body = resetOf(fields, places);
  const params = { cluster, group: name };
  const asked = () => {
    if (body === null) throw new Error(t("reset.to"));
    return body;
  };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      size="xl"
      title={t("reset.dialog", { group: name })}
      applyLabel={t("reset.apply")}
      canPreview={body !== null}
      preview={async () =>
        (await post(RESETS, { params, body: asked(), query: { dry_run: true } })) as Preview
      }
      apply={async () => (await post(RESETS, { params, body: asked() })) as Done}
      onApplied={() => void refresh(client, RESETS, GROUP)}
      renderPlan={(preview) => <PreviewView preview={preview} />}
      renderResult={(reset) => (
        <DoneView reset={reset}>
          <Row>
            <Button variant="default" onClick={() => onUndo(reset)}>
              {t("reset.undo")}
            </Button>
          </Row>
        </DoneView>
      )}
    >
      <ResetForm
        fields={fields}
        places={places}
        topics={group?.topics.map((one) => one.topic) ?? []}
        onChange={(changes) => setFields({ ...fields, ...changes })}
      />
    </DryRunDialog>
  );
}

export function UndoDialog({
  cluster,
  name,
  reset,
  onClose,
}: Props & { reset: { id: string; created_at: string } }) {
  const t = useTexts();
  const locale = useLocale();
  const client = useQueryClient();
  const params = { cluster, group: name, reset: reset.id };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      size="xl"
      title={t("reset.undoTitle", { time: formatTime(reset.created_at, locale) })}
      applyLabel={t("reset.undoApply")}
      preview={async () => (await post(UNDO, { params, query: { dry_run: true } })) as Preview}
      apply={async () => (await post(UNDO, { params })) as Done}
      onApplied={() => void refresh(client, RESETS, GROUP)}
      renderPlan={(preview) => <PreviewView preview={preview} isUndo />}
      renderResult={(done) => <DoneView reset={done} />}
    />
  );
}
