/** One of the three roles. */
import { Select } from "@mantine/core";
import type { Role } from "@/shared/session/rights";
import { useShared } from "@/shared/texts/shared";

const ROLES: readonly Role[] = ["viewer", "operator", "admin"];

interface Props {
  label: string;
  value: Role;
  onChange: (role: Role) => void;
}

export function RoleSelect({ label, value, onChange }: Props) {
  const t = useShared();
  return (
    <Select
      label={label}
      data={ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }))}
      value={value}
      onChange={(role) => onChange(ROLES.find((one) => one === role) ?? "viewer")}
    />
  );
}
