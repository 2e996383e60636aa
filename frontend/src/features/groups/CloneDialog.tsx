/** Another group that begins where this one stands: made with the same configuration if it is not there yet. */
import { Anchor, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get, post } from "@/shared/api/client";
import { ProblemError } from "@/shared/api/problem";
import { refresh } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { PlanView } from "@/shared/ui/plan_views";
import type { components } from "@/types/api.gen";
import { CONFIG, specsOf } from "./EditGroup";
import type { Group } from "./group";
import { changesOf, DEFAULT_SPEC } from "./GroupForm";
import { placesOf } from "./reset_form";
import { DoneView, PreviewView } from "./reset_views";
import { useTexts } from "./texts";

type Preview = components["schemas"]["Preview"];
type Done = components["schemas"]["Reset"];
const GROUPS = "/clusters/{cluster}/groups/";
const RESETS = "/clusters/{cluster}/groups/{group}/resets/";

/** Either the group is there, and its offsets are previewed; or it is to be made, and that is. */
type ClonePlan = { exists: true; preview: Preview } | { exists: false; plan: unknown };

interface Props {
  cluster: string;
  name: string;
  group: Group | undefined;
  onClose: () => void;
}

export function CloneDialog({ cluster, name, group, onClose }: Props) {
  const t = useTexts();
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const other = typed.trim();
  const copying = useClone(cluster, name, other, group);
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      size="xl"
      title={t("clone.title", { group: name })}
      applyLabel={t("clone.apply")}
      canPreview={other !== "" && other !== name}
      preview={copying.preview}
      apply={copying.apply}
      onApplied={() => void refresh(client, GROUPS)}
      renderPlan={(plan) => <PlanOf plan={plan} name={other} group={group} />}
      renderResult={(reset) => (
        <DoneView reset={reset}>
          <Anchor
            size="sm"
            renderRoot={(props) => (
              <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: other }} {...props} />
            )}
          >
            {t("clone.open", { name: other })}
          </Anchor>
        </DoneView>
      )}
    >
      <Stack gap="sm">
        <Text size="sm">{t("clone.lead")}</Text>
        <TextInput
          label={t("clone.name")}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={127}
          required
          spellCheck={false}
          autoComplete="off"
          data-autofocus
        />
      </Stack>
    </DryRunDialog>
  );
}

function useClone(cluster: string, name: string, other: string, group: Group | undefined) {
  // All that the group has offsets on, by name: a new group has none of its own that could be meant.
  const topics = (group?.topics ?? [])
    .map((one) => one.topic)
    .filter((topic) => !topic.startsWith("%RETRY%"));
  const copy = { to: "copy" as const, source_group: name, topics };
  const params = { cluster, group: other };
  async function newGroup() {
    const [spec = DEFAULT_SPEC] = specsOf(await get(CONFIG, { params: { cluster, group: name } }));
    return { name: other, ...changesOf(DEFAULT_SPEC, spec) };
  }
  async function isThere(): Promise<boolean> {
    try {
      await get(CONFIG, { params });
      return true;
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return false;
      throw error;
    }
  }
  return {
    preview: async (): Promise<ClonePlan> => {
      if (await isThere()) {
        return {
          exists: true,
          preview: (await post(RESETS, { params, body: copy, query: { dry_run: true } })) as Preview,
        };
      }
      const body = await newGroup();
      return {
        exists: false,
        plan: await post(GROUPS, { params: { cluster }, body, query: { dry_run: true } }),
      };
    },
    apply: async (): Promise<Done> => {
      if (!(await isThere())) await post(GROUPS, { params: { cluster }, body: await newGroup() });
      return (await post(RESETS, { params, body: copy })) as Done;
    },
  };
}

function PlanOf({ plan, name, group }: { plan: ClonePlan; name: string; group: Group | undefined }) {
  const t = useTexts();
  if (plan.exists) {
    return (
      <Stack gap="sm">
        <Text size="sm">{t("clone.exists", { name })}</Text>
        <PreviewView preview={plan.preview} />
      </Stack>
    );
  }
  const committed = placesOf(group).filter((place) => place.committed !== null).length;
  return (
    <Stack gap="sm">
      <Text size="sm">{t("clone.willMake", { name })}</Text>
      <Text size="sm">{t("clone.queues", { count: committed })}</Text>
      <PlanView plan={plan.plan} />
    </Stack>
  );
}
