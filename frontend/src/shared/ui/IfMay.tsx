/** Write buttons exist for those who may: a viewer sees none. The API refuses anyway. */
import type { ReactNode } from "react";
import type { Role } from "@/shared/session/rights";
import { useRights } from "@/shared/session/session";

interface Props {
  role: Role;
  /** Without one: on the whole platform. */
  cluster?: string;
  /** Without one: on the whole cluster. */
  name?: string;
  /** On some name of the cluster is enough. */
  somewhere?: boolean;
  children: ReactNode;
}

export function IfMay({ role, cluster, name, somewhere = false, children }: Props) {
  const rights = useRights();
  const isAllowed =
    somewhere && cluster ? rights.maySomewhere(role, cluster) : rights.may(role, cluster, name);
  return isAllowed ? children : null;
}
