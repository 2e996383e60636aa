/** A new topic: said, previewed, made and read back. */
import { Anchor } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ResultView } from "@/shared/ui/plan_views";
import { useTexts } from "./texts";
import { isComplete, NEW_TOPIC, NewTopicForm, requestOf } from "./TopicForm";

const PATH = "/clusters/{cluster}/topics/";

export function CreateTopic({ cluster, onClose }: { cluster: string; onClose: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const [fields, setFields] = useState(NEW_TOPIC);
  const params = { cluster };
  const name = fields.name.trim();
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("form.create")}
      applyLabel={t("form.apply")}
      canPreview={isComplete(fields)}
      preview={() => post(PATH, { params, body: requestOf(fields), query: { dry_run: true } })}
      apply={() => post(PATH, { params, body: requestOf(fields) })}
      onApplied={() => void refresh(client, PATH)}
      renderResult={(result) => (
        <>
          <ResultView result={result} />
          <Anchor
            size="sm"
            renderRoot={(props) => (
              <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic: name }} {...props} />
            )}
          >
            {t("form.open")}
          </Anchor>
        </>
      )}
    >
      <NewTopicForm
        cluster={cluster}
        fields={fields}
        onChange={(changes) => setFields({ ...fields, ...changes })}
      />
    </DryRunDialog>
  );
}
