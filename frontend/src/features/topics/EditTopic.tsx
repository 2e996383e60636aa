/** Changing a topic: begins with what its brokers have now, says only what becomes different. */
import { Modal, Skeleton, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, patch } from "@/shared/api/client";
import { refresh, useGet } from "@/shared/api/queries";
import { DryRunDialog } from "@/shared/ui/DryRunDialog";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { useTexts } from "./texts";
import {
  NEW_TOPIC,
  OrderedField,
  PermField,
  QueueFields,
  specOf,
  type TopicFields,
  Unlike,
} from "./TopicForm";

const PATH = "/clusters/{cluster}/topics/{topic}/";
export const CONFIG = "/clusters/{cluster}/topics/{topic}/config/";

interface Props {
  cluster: string;
  topic: string;
  onClose: () => void;
}

export interface TopicSpec {
  read_queues: number;
  write_queues: number;
  perm: number;
  is_ordered: boolean;
  attributes: Record<string, string>;
}

export function specsOf(config: Answer<typeof CONFIG>): TopicSpec[] {
  return config.brokers.flatMap((broker) =>
    broker.ok && broker.read_back ? [broker.read_back as TopicSpec] : [],
  );
}

export function EditTopic(props: Props) {
  const { cluster, topic, onClose } = props;
  const t = useTexts();
  const config = useGet(CONFIG, { params: { cluster, topic } }, { staleTime: 0 });
  const [spec] = config.data ? specsOf(config.data) : [];
  if (spec && config.data && !config.isFetching)
    return <Editing {...props} specs={specsOf(config.data)} first={spec} />;
  return (
    <Modal opened onClose={onClose} title={t("form.edit", { topic })} size="lg">
      {config.isError ? (
        <ProblemAlert error={config.error} onRetry={() => void config.refetch()} />
      ) : (
        <Skeleton height={180} />
      )}
    </Modal>
  );
}

function Editing({
  cluster,
  topic,
  onClose,
  specs,
  first,
}: Props & { specs: TopicSpec[]; first: TopicSpec }) {
  const t = useTexts();
  const client = useQueryClient();
  const [before] = useState(() => fieldsOf(topic, first));
  const [fields, setFields] = useState(before);
  const onChange = (changes: Partial<TopicFields>) => setFields({ ...fields, ...changes });
  const body = changesOf(before, fields);
  const params = { cluster, topic };
  return (
    <DryRunDialog
      opened
      onClose={onClose}
      title={t("form.edit", { topic })}
      applyLabel={t("form.change")}
      canPreview={Object.keys(body).length > 0}
      preview={() => patch(PATH, { params, body, query: { dry_run: true } })}
      apply={() => patch(PATH, { params, body })}
      onApplied={() =>
        void refresh(
          client,
          PATH,
          CONFIG,
          "/clusters/{cluster}/topics/",
          "/clusters/{cluster}/topics/{topic}/routes/",
        )
      }
    >
      <Stack gap="sm">
        <QueueFields fields={fields} onChange={onChange} />
        <PermField fields={fields} onChange={onChange} />
        <OrderedField fields={fields} onChange={onChange} />
        {specs.some((spec) => JSON.stringify(spec) !== JSON.stringify(first)) && <Unlike />}
      </Stack>
    </DryRunDialog>
  );
}

export function fieldsOf(topic: string, spec: TopicSpec): TopicFields {
  return {
    ...NEW_TOPIC,
    name: topic,
    readQueues: spec.read_queues,
    writeQueues: spec.write_queues,
    isApart: spec.read_queues !== spec.write_queues,
    perm: [2, 4, 6].includes(spec.perm) ? (spec.perm as TopicFields["perm"]) : 6,
    isOrdered: spec.is_ordered,
  };
}

/** Only what becomes different: brokers keep the rest as each has it. */
export function changesOf(before: TopicFields, after: TopicFields) {
  const [old, wanted] = [specOf(before), specOf(after)];
  return Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => old[name as keyof typeof old] !== value),
  ) as Partial<typeof wanted>;
}
