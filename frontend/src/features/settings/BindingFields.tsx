/** A role and where it holds. */
import { SimpleGrid, TextInput } from "@mantine/core";
import type { Role } from "@/shared/session/rights";
import { RoleSelect } from "./RoleSelect";
import { useTexts } from "./texts";

export interface NewBinding {
  role: Role;
  cluster_pattern: string;
  name_pattern: string;
}

export const VIEWER: NewBinding = { role: "viewer", cluster_pattern: "*", name_pattern: "*" };

export function BindingFields({
  value,
  onChange,
}: {
  value: NewBinding;
  onChange: (value: NewBinding) => void;
}) {
  const t = useTexts();
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
      <RoleSelect
        label={t("users.role")}
        value={value.role}
        onChange={(role) => onChange({ ...value, role })}
      />
      <TextInput
        label={t("users.clusters")}
        value={value.cluster_pattern}
        onChange={(event) => onChange({ ...value, cluster_pattern: event.currentTarget.value })}
      />
      <TextInput
        label={t("users.names")}
        value={value.name_pattern}
        onChange={(event) => onChange({ ...value, name_pattern: event.currentTarget.value })}
      />
    </SimpleGrid>
  );
}
