/** What is known and set about a cluster: profile with what it may lose, addresses, labels, policy. */
import { Box, Button, Stack, Switch, Text, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patch } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import { useRights } from "@/shared/session/session";
import { useShared } from "@/shared/texts/shared";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notify, notifyProblem } from "@/shared/ui/notices";
import { Panel } from "@/shared/ui/Panel";
import { ExactTime } from "@/shared/ui/RelativeTime";
import { Tag } from "@/shared/ui/StateBadge";
import type { Cluster } from "./cluster_data";
import { labelsOf, textOf } from "./labels";
import { useTexts } from "./texts";

export function SettingsTab({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  return (
    <Stack gap="md">
      <Panel title={t("settings.about")}>
        <About cluster={cluster} />
      </Panel>
      <Panel title={t("settings.client")}>
        <Text size="sm" mb={6}>
          {t("settings.clientHint")}
        </Text>
        <CodeBlock code={cluster.name_server_addresses.join(";")} label={t("settings.nameServers")} wrap />
      </Panel>
      <Policy cluster={cluster} />
      {cluster.kind === "managed" && <Overrides cluster={cluster} />}
    </Stack>
  );
}

function About({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  const isManaged = cluster.kind === "managed";
  return (
    <>
      {isManaged && (
        <Box mb="sm">
          <Text fw={600}>{t(`profile.${cluster.profile}`)}</Text>
          <Text size="sm">{t(`profile.${cluster.profile}Loss`)}</Text>
        </Box>
      )}
      <KeyValue
        items={[
          [t("settings.flavour"), cluster.flavour],
          isManaged ? [t("settings.release"), cluster.release] : null,
          [t("settings.brokerClusterName"), cluster.broker_cluster_name],
          [t("settings.created"), <ExactTime key="created" at={cluster.created_at} />],
          [t("settings.access"), <Access key="access" cluster={cluster} />],
          [t("settings.tls"), t(cluster.uses_tls ? "settings.accessOn" : "settings.accessOff")],
          cluster.access_key
            ? [
                t("settings.accessKey"),
                <span key="key" className="sb-mono">
                  {cluster.access_key}
                </span>,
              ]
            : null,
          cluster.broker_addresses.length > 0
            ? [
                t("settings.brokerAddresses"),
                <span key="brokers" className="sb-mono">
                  {cluster.broker_addresses.join(", ")}
                </span>,
              ]
            : null,
        ]}
      />
    </>
  );
}

function Access({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  // What an attached cluster asks for is its own affair: known is whether the console has credentials.
  if (cluster.kind !== "managed")
    return t(cluster.has_access_control ? "settings.accessOn" : "settings.accessOff");
  return (
    <>
      {t(`access.${cluster.access_control}`)}
      <Text size="xs" c="dimmed">
        {t(`access.${cluster.access_control}Hint`)}
      </Text>
    </>
  );
}

type Changes = { labels?: Record<string, string>; needs_approval?: boolean; repairs_drift?: boolean };

function useChange(cluster: Cluster) {
  const t = useTexts();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Changes) => patch("/clusters/{cluster}/", { params: { cluster: cluster.name }, body }),
    onSuccess: async () => {
      await refresh(client, "/clusters/{cluster}/");
      notify(t("settings.saved"));
    },
    onError: (error) => notifyProblem(t("settings.policy"), error),
  });
}

function Policy({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  const { may } = useRights();
  const change = useChange(cluster);
  const isAdmin = may("admin", cluster.name);
  return (
    <Panel title={t("settings.policy")}>
      <Stack gap="sm">
        {cluster.kind === "managed" && (
          <>
            <Switch
              label={t("settings.needsApproval")}
              description={t("settings.needsApprovalHint")}
              checked={cluster.needs_approval}
              disabled={!isAdmin || change.isPending}
              onChange={(event) => change.mutate({ needs_approval: event.currentTarget.checked })}
            />
            <Switch
              label={t("settings.repairsDrift")}
              description={t("settings.repairsDriftHint")}
              checked={cluster.repairs_drift}
              disabled={!isAdmin || change.isPending}
              onChange={(event) => change.mutate({ repairs_drift: event.currentTarget.checked })}
            />
          </>
        )}
        <Labels cluster={cluster} mayEdit={isAdmin} onSave={(labels) => change.mutate({ labels })} />
      </Stack>
    </Panel>
  );
}

interface LabelsProps {
  cluster: Cluster;
  mayEdit: boolean;
  onSave: (labels: Record<string, string>) => void;
}

function Labels({ cluster, mayEdit, onSave }: LabelsProps) {
  const t = useTexts();
  const shared = useShared();
  const [text, setText] = useState<string | null>(null);
  const labels = Object.entries(cluster.labels);
  if (text === null) {
    return (
      <Box>
        <Text size="sm" mb={4}>
          {t("settings.labels")}
        </Text>
        {labels.length === 0 && (
          <Text size="sm" c="dimmed">
            {t("settings.noLabels")}
          </Text>
        )}
        {labels.map(([name, value]) => (
          <Tag key={name}>{`${name}=${value}`}</Tag>
        ))}
        {mayEdit && (
          <Box mt={6}>
            <Button variant="default" onClick={() => setText(textOf(cluster.labels))}>
              {t("settings.editLabels")}
            </Button>
          </Box>
        )}
      </Box>
    );
  }
  return (
    <Box>
      <Textarea
        label={t("settings.labels")}
        description={t("settings.labelsHint")}
        value={text}
        autosize
        minRows={3}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button
        mt={6}
        mr={6}
        onClick={() => {
          onSave(labelsOf(text));
          setText(null);
        }}
      >
        {t("settings.save")}
      </Button>
      <Button mt={6} variant="default" onClick={() => setText(null)}>
        {shared("action.cancel")}
      </Button>
    </Box>
  );
}

function Overrides({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  const items = Object.entries((cluster.overrides ?? {}) as Record<string, string>);
  return (
    <Panel title={t("settings.overrides")}>
      <Text size="sm" c="dimmed" mb={6}>
        {items.length === 0 ? t("settings.noOverrides") : t("settings.overridesHint")}
      </Text>
      <KeyValue
        items={items.map(
          ([key, value]) =>
            [
              key,
              <span key={key} className="sb-mono">
                {value}
              </span>,
            ] as const,
        )}
      />
    </Panel>
  );
}
