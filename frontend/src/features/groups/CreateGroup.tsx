/** A new consumer group: said, previewed, made and read back. */
import { Anchor, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { AboutFields, aboutOf, NOTHING_SAID, saidOf } from "@/shared/about/AboutFields";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ResultView } from "@/shared/ui/plan_views";
import { changesOf, DEFAULT_SPEC, SpecFields } from "./GroupForm";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/groups/";

export function CreateGroup({ cluster, onClose }: { cluster: string; onClose: () => void }) {
  const t = useTexts();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [spec, setSpec] = useState(DEFAULT_SPEC);
  const [about, setAbout] = useState(NOTHING_SAID);
  const group = name.trim();
  const body = { name: group, ...changesOf(DEFAULT_SPEC, spec), ...saidOf(about) };
  const params = { cluster };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("form.create")}
      applyLabel={t("form.apply")}
      canPreview={group !== "" && aboutOf(about) !== null}
      preview={() => post(PATH, { params, body, query: { dry_run: true } })}
      apply={() => post(PATH, { params, body })}
      onApplied={() => void refresh(client, PATH)}
      renderResult={(result) => (
        <>
          <ResultView result={result} />
          <Anchor
            size="sm"
            renderRoot={(props) => (
              <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group }} {...props} />
            )}
          >
            {t("form.open")}
          </Anchor>
        </>
      )}
    >
      <Stack gap="sm">
        <TextInput
          label={t("form.name")}
          description={t("form.nameHint")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={127}
          required
          spellCheck={false}
          autoComplete="off"
          data-autofocus
        />
        <SpecFields spec={spec} onChange={(changes) => setSpec({ ...spec, ...changes })} />
        <AboutFields about={about} onChange={(changes) => setAbout({ ...about, ...changes })} />
      </Stack>
    </DryRunDialog>
  );
}
