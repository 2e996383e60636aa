/** The settings of a consumer group as fields of a form. */
import { NumberInput, SimpleGrid, Stack, Switch } from "@mantine/core";
import type { components } from "@/types/api.gen";
import { useTexts } from "./texts";

/** What a broker keeps about a group, in the API's words. */
export type GroupSpec = Required<
  Pick<
    components["schemas"]["NewGroupRequest"],
    | "is_enabled"
    | "is_from_min_enabled"
    | "is_broadcast_enabled"
    | "is_ordered"
    | "retry_queues"
    | "retry_max_times"
    | "consume_timeout_min"
    | "slow_broker_id"
    | "notifies_members"
  >
>;

/** RocketMQ's own. */
export const DEFAULT_SPEC: GroupSpec = {
  is_enabled: true,
  is_from_min_enabled: true,
  is_broadcast_enabled: true,
  is_ordered: false,
  retry_queues: 1,
  retry_max_times: 16,
  consume_timeout_min: 15,
  slow_broker_id: 1,
  notifies_members: true,
};

export const FLAGS = [
  "is_enabled",
  "is_ordered",
  "is_broadcast_enabled",
  "is_from_min_enabled",
  "notifies_members",
] as const satisfies readonly (keyof GroupSpec)[];

export const NUMBERS = {
  retry_max_times: [-1, 10_000],
  retry_queues: [0, 1024],
  consume_timeout_min: [1, 10_080],
  slow_broker_id: [0, 2 ** 31 - 1],
} as const satisfies Partial<Record<keyof GroupSpec, readonly [number, number]>>;
export const NUMBER_NAMES = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[];

interface Props {
  spec: GroupSpec;
  onChange: (changes: Partial<GroupSpec>) => void;
}

export function SpecFields({ spec, onChange }: Props) {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {NUMBER_NAMES.map((name) => (
          <NumberInput
            key={name}
            label={t(`config.field.${name}`)}
            description={name === "retry_max_times" ? t("form.retriesHint") : undefined}
            inputWrapperOrder={["label", "input", "description", "error"]}
            min={NUMBERS[name][0]}
            max={NUMBERS[name][1]}
            allowDecimal={false}
            value={spec[name]}
            onChange={(value) => onChange({ [name]: typeof value === "number" ? value : NUMBERS[name][0] })}
          />
        ))}
      </SimpleGrid>
      {FLAGS.map((name) => (
        <Switch
          key={name}
          label={t(`config.field.${name}`)}
          description={name === "is_enabled" ? t("form.enabledHint") : undefined}
          checked={spec[name]}
          onChange={(event) => onChange({ [name]: event.currentTarget.checked })}
        />
      ))}
    </Stack>
  );
}

/** Only what becomes different: brokers keep the rest as each has it. */
export function changesOf(before: GroupSpec, after: GroupSpec): Partial<GroupSpec> {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => before[name as keyof GroupSpec] !== value),
  );
}
